use super::chart::*;

fn chart(points: Vec<(f64, f64)>) -> Chart {
    let series = Series { name: "a <b>".into(), color: 9, line: 4, band: Vec::new(), points };
    Chart::by_generation("Title", "About.", "units", vec![series])
}

/// Returns the positions of the dots.
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
        vec![(1.0, 1e308)],
        vec![(1.0, -1e308), (2.0, 1e308)],
        vec![(1.0, f64::MAX), (2.0, f64::MIN), (3.0, f64::NAN)],
        vec![(1.0, 5e-324), (2.0, 0.0)],
        vec![(1.0, 5e-324)],
        vec![(1.0, 1e308), (2.0, 1e308 * (1.0 + 1e-15))],
        vec![(1.0, 1.0), (2.0, 1.0 + 1e-16), (3.0, 1.0 + 3e-16)],
        vec![(0.0, 1.0), (1e300, 2.0)],
    ] {
        let text = chart(points).figure().into_string();
        assert!(text.contains("<svg") && !text.contains("inf"), "{text}");
        // everything drawn is inside the picture
        let is_inside = |[x, y]: &[f64; 2]| (0.0..=560.0).contains(x) && (0.0..=230.0).contains(y);
        assert!(dots(&text).iter().all(is_inside), "{text}");
        assert!(text.matches("class=\"grid").count() >= 2, "{text}");
        assert!(text.matches("class=\"y\"").count() <= 21, "{text}");
    }
}

/// A chart over many generations has labels at round numbers.
#[test]
fn generations_are_counted_in_round_numbers() {
    let labels = |last: f64| {
        let text = chart(vec![(1.0, 1.0), (last, 2.0)]).figure().into_string();
        let after = text.split("<text class=\"x\"").skip(1);
        let texts = after.map(|part| part.split_once('>').unwrap().1.split_once('<').unwrap().0.to_string());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(labels(100_000.0)[..2], ["10000", "20000"]);
    assert_eq!(labels(6_000.0)[..2], ["500", "1000"]);
}

/// Returns the labels of the axis, from the bottom.
fn labels(points: Vec<(f64, f64)>) -> Vec<String> {
    let text = chart(points).figure().into_string();
    let after = text.split("<text class=\"y\"").skip(1);
    after.map(|part| part.split_once('>').unwrap().1.split_once('<').unwrap().0.to_string()).collect()
}

#[test]
fn labels_are_short_and_differ() {
    assert_eq!(labels(vec![(1.0, 0.31), (2.0, 0.79)]), ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]);
    assert_eq!(labels(vec![(1.0, 0.1), (2.0, 1.2)]), ["0", "0.25", "0.5", "0.75", "1", "1.25"]);
    assert_eq!(labels(vec![(1.0, 0.0), (2.0, 0.0)])[0], "0", "shares are not negative");
    let small = labels(vec![(1.0, 0.018), (2.0, 0.019)]);
    assert_eq!(small, ["0.0180", "0.0182", "0.0184", "0.0186", "0.0188", "0.0190"]);
}

/// An open bound reaches the edge of the picture and is missing from the table.
#[test]
fn open_bounds_are_open() {
    let points = vec![(1.0, 100.0), (2.0, 200.0)];
    let band = vec![(1.0, Some(50.0), Some(150.0)), (2.0, Some(120.0), None)];
    let series = Series { name: "a".into(), color: 0, line: 0, points, band };
    let text = Chart::by_generation("Title", "About.", "units", vec![series]).figure().into_string();
    assert!(text.contains("100 (50 to 150)") && text.contains("200 (120 or more)"), "{text}");
    let top = text.split("class=\"grid\" d=\"M52 ").last().unwrap().split_once('H').unwrap().0;
    let band = text.split_once("class=\"band").unwrap().1.split_once('z').unwrap().0;
    assert!(band.contains(&format!(" {top}L")), "{band} without {top}");
}

#[test]
fn numbers_are_short() {
    let shown = [0.0, 0.12345, -0.5, 1.0, 9.876, 12.34, 123.4, 45678.9, -310.2].map(number);
    assert_eq!(shown, ["0", "0.123", "-0.5", "1", "9.88", "12.3", "123", "45679", "-310"]);
}
