use super::*;
use crate::folded::collapsed;

fn draw(text: &str, options: &SvgOptions) -> (String, u64) {
    let mut folded = Folded::default();
    collapsed::read(text.as_bytes(), &mut folded).unwrap();
    let mut out = Vec::new();
    let boxes = write(&folded, options, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), boxes)
}

fn graph(text: &str, least: f64) -> Vec<(String, u32, i64, i64)> {
    let mut folded = Folded::default();
    collapsed::read(text.as_bytes(), &mut folded).unwrap();
    let graph = Graph::new(&folded, least);
    let name = |placed: &Placed| String::from_utf8_lossy(graph.name(placed.name).0).into_owned();
    let placed = graph.boxes.iter();
    placed.map(|p| (name(p), p.depth, p.start, p.end)).collect()
}

#[test]
fn callers_lie_under_what_they_call() {
    let place = |name: &str, depth, start, end| (name.to_owned(), depth, start, end);
    let expected = [
        place("all", 0, 0, 10),
        place("a", 1, 0, 7),
        place("b", 2, 1, 6),
        place("c", 2, 6, 7),
        place("b", 1, 7, 10),
    ];
    assert_eq!(graph("b 3\na;b 5\na;c 1\na 1\nz -4\n", 0.0), expected);
    let wide = graph("b 3\na;b 5\na;c 1\na 1\n", 0.2);
    assert_eq!(wide.len(), 4);
}

#[test]
fn tiers_of_a_method_are_one_box_of_the_heaviest() {
    let (svg, boxes) = draw(
        "a.B.c_[0];d_[k] 1\na.B.c_[j];d_[k] 5\n",
        &SvgOptions::default(),
    );
    assert_eq!(boxes, 3);
    assert!(
        svg.contains("<title>a.B.c\ncompiled, 6 samples, 100.00 %</title>"),
        "{svg}"
    );
    assert!(svg.contains("#489870") && svg.contains(">kernel</text>"));
    assert!(!svg.contains("interpreted"));
}

#[test]
fn names_are_escaped_and_controls_replaced() {
    let (svg, _) = draw(
        "f<int>&\"\u{1};g 1\n",
        &SvgOptions {
            title: "a & b".into(),
            ..SvgOptions::default()
        },
    );
    assert!(
        svg.contains("<title>f&lt;int&gt;&amp;&quot;\u{fffd}\n"),
        "{svg}"
    );
    assert!(svg.contains("<title>a &amp; b</title>"));
    assert!(
        svg.matches("]]>").count() == 1,
        "the script ends where it should"
    );
}

#[test]
fn order_of_lines_does_not_matter() {
    let options = SvgOptions::default();
    assert_eq!(
        draw("a;b 1\nc 2\na 3\n", &options),
        draw("a 3\nc 1\na;b 1\nc 1\n", &options)
    );
    let icicle = SvgOptions {
        icicle: true,
        ..SvgOptions::default()
    };
    assert_ne!(draw("a;b 1\n", &options), draw("a;b 1\n", &icicle));
}

#[test]
fn narrow_boxes_are_left_out() {
    let text = "a;b 100000\na;c 1\na;d 9\n";
    let (svg, boxes) = draw(text, &SvgOptions::default());
    assert_eq!(boxes, 4, "b and d, but not c: {}", svg.len());
    assert_eq!(
        draw(
            text,
            &SvgOptions {
                min_width: 0.0,
                ..SvgOptions::default()
            }
        )
        .1,
        5
    );
}

#[test]
fn amounts_are_read_in_their_unit() {
    assert_eq!(amount(1_500_000_000, "ns"), "1.50 s");
    assert_eq!(amount(1_500, "ns"), "1.50 µs");
    assert_eq!(amount(999, "ns"), "999 ns");
    assert_eq!(amount(3 << 29, "bytes"), "1.50 GiB");
    assert_eq!(amount(1_234_567, "samples"), "1,234,567 samples");
    assert_eq!(
        [
            fitted("abcdef", 50.0),
            fitted("abcdef", 35.0),
            fitted("abcdef", 10.0)
        ],
        ["abcdef", "ab..", ""]
    );
}
