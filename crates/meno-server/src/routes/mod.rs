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
use axum::extract::OriginalUri;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
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
struct Description;

/// Everything that the server answers.
pub(crate) fn router(app: Arc<App>) -> Router {
    let (router, mut document) = described().split_for_parts();
    complete(&mut document);
    let openapi = move |OriginalUri(uri): OriginalUri| async move {
        reply::value(StatusCode::OK, &placed(document, uri.path()))
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

/// The document for where it was asked for: the addresses in it begin where the router is mounted.
fn placed(mut document: Document, path: &str) -> Document {
    let prefix = path.strip_suffix("/openapi.json").unwrap_or_default();
    if !prefix.is_empty() {
        document.servers = Some(vec![Server::new(prefix)]);
    }
    document
}

fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
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
