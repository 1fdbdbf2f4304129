//! Pictures are sound files, say in words what they show, and refuse what cannot be shown.

use meno::metrics::calibration_error::Reliability;
use meno::random::Random;

use super::*;

/// The sum of twelve numbers in 0..1 less 6 is nearly normal.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| f64::from(random.uniform())).sum::<f64>() - 6.0
}

fn histogram() -> Histogram {
    let mut random = Random::new(1);
    let class = |name: &str, n: usize, mean: f64, random: &mut Random| Class {
        name: name.to_owned(),
        values: (0..n).map(|_| mean + normal(random)).collect(),
    };
    let mut known = class("in-domain words", 9000, -4.0, &mut random);
    known.values.extend([-5e3, -9e2]);
    let new = class("new concepts", 900, -1.0, &mut random);
    Histogram {
        title: "Dirichlet entropy of words, calibrated model, ATIS".to_owned(),
        x_label: "H(α), nats".to_owned(),
        classes: [known, new],
        threshold: Some(-1.73),
    }
}

fn curves() -> Lines {
    let curve = |name: &str, power: f64| Series {
        name: name.to_owned(),
        points: (0..=3000).map(|idx| f64::from(idx) / 3000.0).map(|x| (x, 1.0 - x.powf(power))).collect(),
        spread: Vec::new(),
    };
    Lines {
        title: "Precision and recall of words of new concepts".to_owned(),
        x: Axis { label: "recall".to_owned(), range: Some((0.0, 1.0)), ..Axis::default() },
        y: Axis { label: "precision".to_owned(), range: Some((0.0, 1.0)), ..Axis::default() },
        series: vec![
            curve("calibrated entropy (AUPR 0.80)", 4.0),
            curve("entropy of α + 1 (AUPR 0.71)", 2.5),
            curve("max logit (AUPR 0.67)", 2.0),
            curve("confidence (AUPR 0.50)", 1.0),
            curve("k-nearest-neighbour distance (AUPR 0.33)", 0.5),
        ],
        marks: vec![Mark { name: "where the model stands".to_owned(), at: (0.7, 0.8) }],
    }
}

fn sweep() -> Lines {
    let series = |name: &str, top: f64, spread: f64| Series {
        name: name.to_owned(),
        points: (1..=10)
            .map(|idx| 0.05 * f64::from(idx))
            .map(|x| (x, top - 60.0 * (x - 0.1f64).powi(2)))
            .collect(),
        spread: vec![spread; 10],
    };
    Lines {
        title: "New-concept F1 against the radius of the ball".to_owned(),
        x: Axis { label: "δ".to_owned(), ..Axis::default() },
        y: Axis { label: "strict F1, mean and standard deviation of 10 seeds".to_owned(), ..Axis::default() },
        series: vec![series("calibrated entropy", 68.0, 3.1), series("confidence", 55.0, 1.4)],
        marks: Vec::new(),
    }
}

fn reliability() -> ReliabilityDiagram {
    let mut random = Random::new(3);
    let pairs = (0..9000).map(|_| {
        let confidence = f64::from(random.uniform()).powf(0.12);
        (confidence, f64::from(random.uniform()) < confidence.powf(1.8))
    });
    ReliabilityDiagram {
        title: "Reliability of the plain model, ATIS test".to_owned(),
        reliability: Reliability::new(pairs.collect::<Vec<_>>()).unwrap(),
    }
}

fn heat_map(n: usize, negative: bool) -> HeatMap {
    let mut random = Random::new(4);
    let name = |idx: usize| match idx {
        0 => "O".to_owned(),
        1 => "<b>&\"' ]]>\u{1}".to_owned(),
        idx => format!(
            "{}-{}",
            if idx % 2 == 0 { "B" } else { "I" },
            ["fromloc.city_name", "depart_time.period_of_day", "airline"][idx / 2 % 3]
        ),
    };
    let names: Vec<String> = (0..n).map(name).collect();
    let value = |idx: usize| {
        let near = if idx.is_multiple_of(n + 1) { 0.05 } else { 0.0 };
        let value = if random.uniform() < 0.06 { 0.1 * f64::from(random.uniform()) } else { near };
        if negative && random.uniform() < 0.5 { -value } else { value }
    };
    HeatMap {
        title: "Calibration matrix, ATIS, seed 1".to_owned(),
        value_label: "weight".to_owned(),
        row_label: "corrected label".to_owned(),
        column_label: "label corrected by".to_owned(),
        rows: names.clone(),
        columns: names,
        values: (0..n * n).map(value).collect(),
    }
}

fn bars() -> Bars {
    let bar = |mean: f64, deviation: f64, mark: Option<f64>| Some(Bar { mean, deviation, mark });
    let row = |name: &str, bars: Vec<Option<Bar>>| BarRow { name: name.to_owned(), bars };
    Bars {
        title: "New-concept F1 on ATIS, 10 seeds".to_owned(),
        x_label: "strict F1".to_owned(),
        series: vec!["calibrated model".to_owned(), "plain model".to_owned()],
        rows: vec![
            row("Dropout perturbation", vec![bar(44.1, 2.0, Some(47.0)), bar(42.3, 2.8, Some(44.9))]),
            row("Confidence", vec![bar(48.9, 3.2, Some(52.4)), bar(41.6, 3.9, Some(49.3))]),
            row("OOV rule", vec![None, bar(51.3, 1.0, None)]),
            row("Dirichlet entropy", vec![bar(68.3, 5.2, Some(71.8)), bar(40.5, 2.2, Some(60.1))]),
            row(
                "Dirichlet entropy + Syntax + OOV",
                vec![bar(72.9, 4.1, Some(76.5)), bar(53.2, 3.0, Some(66.3))],
            ),
        ],
        mark_name: "the paper".to_owned(),
    }
}

fn gallery() -> Vec<(&'static str, Scene)> {
    vec![
        ("histogram", histogram().scene().unwrap()),
        ("curves", curves().scene().unwrap()),
        ("sweep", sweep().scene().unwrap()),
        ("reliability", reliability().scene().unwrap()),
        ("heat_map", heat_map(127, false).scene().unwrap()),
        ("heat_map_small", heat_map(9, true).scene().unwrap()),
        ("heat_map_one", heat_map(1, false).scene().unwrap()),
        ("bars", bars().scene().unwrap()),
    ]
}

#[test]
fn both_files_are_sound() {
    let dir = tempfile::tempdir().unwrap();
    for (name, scene) in gallery() {
        let path = dir.path().join(format!("{name}-0.1"));
        save(&scene, &path).unwrap();
        let svg = std::fs::read_to_string(with_ending(&path, ".svg")).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        let root = document.root_element();
        assert_eq!(
            root.attribute("viewBox").unwrap(),
            format!("0 0 {} {}", scene.width, scene.height),
            "{name}"
        );
        for element in ["title", "desc"] {
            let found = root.children().find(|child| child.has_tag_name((SVG, element))).unwrap();
            assert!(found.text().is_some_and(|text| !text.is_empty()), "{name}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        let png = std::fs::read(with_ending(&path, ".png")).unwrap();
        let pixmap = tiny_skia::Pixmap::decode_png(&png).unwrap();
        let size = [scene.width, scene.height].map(|side| (side * png::SCALE).round() as u32);
        assert_eq!([pixmap.width(), pixmap.height()], size, "{name}");
        assert!(pixmap.pixels().iter().all(|pixel| pixel.is_opaque()), "{name} has no ground");
    }
}

const SVG: &str = "http://www.w3.org/2000/svg";

#[test]
fn the_same_numbers_give_the_same_bytes() {
    for ((name, one), (_, other)) in gallery().into_iter().zip(gallery()) {
        assert_eq!(one.svg(), other.svg(), "{name}");
        assert_eq!(one.png().unwrap(), other.png().unwrap(), "{name}");
    }
}

#[test]
fn names_are_escaped_and_kept() {
    let svg = heat_map(4, false).scene().unwrap().svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"<b>&\"' ]]>\u{fffd}"), "{texts:?}");
}

#[test]
fn everything_drawn_lies_inside() {
    for (name, scene) in gallery() {
        let inside = |(x, y): scene::Point| {
            (-0.01..=scene.width + 0.01).contains(&x) && (-0.01..=scene.height + 0.01).contains(&y)
        };
        for item in &scene.items {
            let points = match item {
                scene::Item::Cells { cells, .. } => cells
                    .iter()
                    .flat_map(|cell| [(cell.x, cell.y), (cell.x + cell.width, cell.y + cell.height)])
                    .collect(),
                scene::Item::Area { points, .. } | scene::Item::Line { points, .. } => points.clone(),
                scene::Item::Text(text) => text_ends(&scene, text),
            };
            assert!(points.into_iter().all(inside), "{name}: {item:?}");
        }
    }
}

fn text_ends(scene: &Scene, text: &scene::Text) -> Vec<scene::Point> {
    let width = scene.fonts().width(&text.text, text.size, text.bold);
    let from = match text.anchor {
        scene::Anchor::Start => 0.0,
        scene::Anchor::Middle => -width / 2.0,
        scene::Anchor::End => -width,
    };
    let (x, y) = text.at;
    [from, from + width].map(|along| if text.upright { (x, y - along) } else { (x + along, y) }).to_vec()
}

fn check(result: Result<Scene>, expected: &str) {
    let error = result.err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(expected));
}

#[test]
fn nothing_to_show_is_an_error() {
    let mut picture = histogram();
    picture.classes[1].values.clear();
    picture.title = "t".to_owned();
    check(picture.scene(), "picture `t`: there are no values of `new concepts`");
    check(
        Lines { title: "t".to_owned(), series: Vec::new(), ..curves() }.scene(),
        "picture `t`: there is no curve to draw",
    );
    let empty = Series { name: "s".to_owned(), points: Vec::new(), spread: Vec::new() };
    check(
        Lines { title: "t".to_owned(), series: vec![empty], ..curves() }.scene(),
        "picture `t`: `s` has no points",
    );
    let nothing = Reliability::new([]).unwrap();
    check(
        ReliabilityDiagram { title: "t".to_owned(), reliability: nothing }.scene(),
        "picture `t`: there are no words in the bins",
    );
    let map = HeatMap { title: "t".to_owned(), rows: Vec::new(), ..heat_map(2, false) };
    check(map.scene(), "picture `t`: a matrix of 0 x 2 cannot be shown, 1 to 400 can");
    let map = HeatMap { title: "t".to_owned(), values: vec![1.0], ..heat_map(2, false) };
    check(map.scene(), "picture `t`: 2 rows and 2 columns but 1 numbers");
    check(
        Bars { title: "t".to_owned(), rows: Vec::new(), ..bars() }.scene(),
        "picture `t`: there is no bar to draw",
    );
}

#[test]
fn numbers_that_are_not_finite_are_an_error() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut picture = histogram();
        picture.title = "t".to_owned();
        picture.threshold = Some(bad);
        check(picture.scene(), &format!("picture `t`: the threshold holds {bad}"));
        let mut picture = sweep();
        picture.title = "t".to_owned();
        picture.series[1].spread[3] = bad;
        check(picture.scene(), &format!("picture `t`: `confidence` holds {bad}"));
        let mut picture = curves();
        picture.title = "t".to_owned();
        picture.marks[0].at.1 = bad;
        check(picture.scene(), &format!("picture `t`: `where the model stands` holds {bad}"));
        let mut picture = heat_map(3, false);
        picture.title = "t".to_owned();
        picture.values[4] = bad;
        check(picture.scene(), &format!("picture `t`: the matrix holds {bad}"));
        let mut picture = bars();
        picture.title = "t".to_owned();
        picture.rows[0].bars[0] = Some(Bar { mean: bad, ..Bar::default() });
        check(picture.scene(), &format!("picture `t`: `Dropout perturbation` holds {bad}"));
    }
}

#[test]
fn odd_but_finite_numbers_are_drawn() {
    let mut picture = histogram();
    for values in [vec![0.0], vec![1e-300, 1e300], vec![f64::MAX, -f64::MAX]] {
        picture.classes.iter_mut().for_each(|class| class.values.clone_from(&values));
        picture.threshold = None;
        assert!(!picture.scene().unwrap().svg().contains("NaN"), "{values:?}");
    }
    let mut map = heat_map(2, true);
    map.values = vec![f64::MAX, -f64::MAX, 0.0, 1e-300];
    assert!(!map.scene().unwrap().svg().contains("NaN"));
    map.values = vec![0.0; 4];
    assert!(!map.scene().unwrap().svg().contains("NaN"));
}
