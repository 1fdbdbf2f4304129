//! The interface: what each address does.

mod annotate;
mod concepts;
mod dialogue;
mod health;
mod learnt;
mod model;
mod owners;
mod page;
mod rasa;
mod tokens;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::OriginalUri;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use serde_json::json;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, ResponseBuilder, Server};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::{Code, Problem};
use crate::{App, around, reply, schema};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Meno",
        description = "Intent classification and slot filling that knows what it does not know, asks, and learns the answer. Every \
                       refusal has the shape of `Failure`."
    ),
    components(schemas(schema::Failure)),
    security((), ("token" = []))
)]
struct Described;

/// Everything that the server answers.
pub(crate) fn router(app: Arc<App>) -> Router {
    let (router, mut document) = described().split_for_parts();
    complete(&mut document);
    let description = Arc::new(Description::new(document));
    let openapi = move |OriginalUri(uri): OriginalUri| async move {
        reply::json(StatusCode::OK, description.at(uri.path()))
    };
    router
        .route("/openapi.json", get(openapi))
        .merge(page::router())
        .fallback(|| async { Problem::new(Code::NotFound, "there is nothing here", "see /openapi.json") })
        .method_not_allowed_fallback(|| async {
            Problem::new(Code::Method, "this address knows other methods", "see /openapi.json")
        })
        .layer(from_fn_with_state(app.clone(), around::around))
        .with_state(app)
}

/// What is answered on an address of its own: health and counts.
pub(crate) fn admin(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .fallback(|| async {
            Problem::new(
                Code::NotFound,
                "there is nothing here",
                "this address has /healthz, /readyz and /metrics",
            )
        })
        .layer(from_fn_with_state(app.clone(), around::around))
        .with_state(app)
}

/// The description, written once: whoever asks for it needs no token.
struct Description {
    whole: Bytes,
    /// What stands before and after where the router is mounted.
    parts: [String; 2],
}

impl Description {
    fn new(mut document: Document) -> Self {
        document.servers = Some(vec![Server::new("/")]);
        let placed = document.to_json().expect("a description is plain data");
        let (before, after) = placed.split_once(&servers("/")).expect("it was just written");
        Description { whole: [before, after].concat().into(), parts: [before, after].map(str::to_owned) }
    }

    /// The description for where it was asked for: the addresses in it begin where the router is mounted.
    fn at(&self, path: &str) -> Bytes {
        let [before, after] = &self.parts;
        match path.strip_suffix("/openapi.json").unwrap_or_default() {
            "" => self.whole.clone(),
            prefix => [before, servers(prefix).as_str(), after].concat().into(),
        }
    }
}

/// As a description has it.
fn servers(prefix: &str) -> String {
    format!("\"servers\":{},", json!([Server::new(prefix)]))
}

fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(annotate::annotate))
        .routes(routes!(dialogue::turn))
        .routes(routes!(dialogue::end))
        .routes(routes!(concepts::list, concepts::teach))
        .routes(routes!(concepts::undo))
        .routes(routes!(concepts::export))
        .routes(routes!(concepts::import))
        .routes(routes!(concepts::show, concepts::amend, concepts::forget))
        .routes(routes!(owners::show, owners::erase))
        .routes(routes!(model::show))
        .routes(routes!(model::load))
        .routes(routes!(tokens::list))
        .routes(routes!(tokens::load))
        .routes(routes!(model::load_certificate))
        .routes(routes!(rasa::parse))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
}

/// Adds what every operation has: the token, and refusals.
fn complete(document: &mut Document) {
    let token = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    document.components.get_or_insert_default().add_security_scheme("token", token);
    let schema = RefOr::Ref(Ref::from_schema_name("Failure"));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let refusal = ResponseBuilder::new().description("Refused").content("application/json", content).build();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.responses.responses.insert("default".to_owned(), refusal.clone().into());
        }
    }
}
