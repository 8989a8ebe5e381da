use super::chart::*;

fn chart(points: Vec<(f64, f64)>) -> Chart {
    let series = Series { name: "a <b>".into(), color: 9, line: 4, band: Vec::new(), points };
    Chart::by_generation("Title", "About.", "units", vec![series])
}

/// The places of the dots.
fn dots(text: &str) -> Vec<[f64; 2]> {
    let number = |part: &str, key: &str| {
        part.split_once(key).unwrap().1.split_once('"').unwrap().0.parse::<f64>().unwrap()
    };
    text.split("<circle").skip(1).map(|part| [number(part, "cx=\""), number(part, "cy=\"")]).collect()
}

#[test]
fn larger_numbers_stand_higher_and_later_ones_further_right() {
    let text = chart(vec![(1.0, 0.2), (2.0, 0.8), (5.0, 0.5)]).figure().into_string();
    let dots = dots(&text);
    assert!(dots[0][0] < dots[1][0] && dots[1][0] < dots[2][0], "{dots:?}");
    assert!(dots[1][1] < dots[2][1] && dots[2][1] < dots[0][1], "{dots:?}");
    // three steps take three times as much room as one
    let steps = [dots[1][0] - dots[0][0], dots[2][0] - dots[1][0]];
    assert!((steps[1] / steps[0] - 3.0).abs() < 0.01, "{steps:?}");
    assert!(text.contains("a &lt;b&gt;") && !text.contains("a <b>"));
}

#[test]
fn odd_numbers_make_a_picture_too() {
    assert_eq!(chart(Vec::new()).figure().into_string(), "");
    for points in [
        vec![(3.0, 7.0)],
        vec![(1.0, 0.0), (2.0, 0.0)],
        vec![(1.0, f64::NAN), (2.0, 1.0)],
        vec![(1.0, 1e12), (2.0, -1e-12)],
    ] {
        let text = chart(points).figure().into_string();
        assert!(text.contains("<svg") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn numbers_are_short() {
    let shown = [0.0, 0.12345, -0.5, 1.0, 9.876, 12.34, 123.4, 45678.9, -310.2].map(number);
    assert_eq!(shown, ["0", "0.123", "-0.5", "1", "9.88", "12.3", "123", "45679", "-310"]);
}
