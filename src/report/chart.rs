//! Charts: lines with bands over an axis, and bars made of parts. Each chart is an SVG, followed by a table of its
//! numbers.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::draw::escaped;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 230.0;
/// The margins of a chart, with room for its numbers.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 20.0;
const BELOW: f64 = 34.0;
/// The number of colors and of line styles in the page's style sheet.
const COLORS: usize = 8;
const LINES: usize = 3;
/// The largest number of points that a line may have for its points to be marked.
const MARKED: usize = 60;

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// The line's name in the legend.
    pub name: String,
    /// The line's color, from 0.
    pub color: usize,
    /// The style of the line: 0 for a solid line, larger numbers for dashed lines.
    pub line: usize,
    /// The points, as `(x, y)`, ascending by x.
    pub points: Vec<(f64, f64)>,
    /// The band, as `(x, low, high)`; may be empty. An open bound is `None` and reaches the edge of the picture.
    pub band: Vec<(f64, Option<f64>, Option<f64>)>,
}

/// Lines over an axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// A caption of one sentence.
    pub about: String,
    /// The label of the vertical axis.
    pub unit: String,
    /// The label of the horizontal axis.
    pub over: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// A number on the horizontal axis. Unlike `f64`, this type has a total order.
#[derive(Clone, Copy, Debug)]
struct Notch(f64);

impl PartialEq for Notch {
    fn eq(&self, other: &Notch) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Notch {}

impl PartialOrd for Notch {
    fn partial_cmp(&self, other: &Notch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Notch {
    fn cmp(&self, other: &Notch) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A bar for each name, made of parts.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The heading.
    pub title: String,
    /// A caption of one sentence.
    pub about: String,
    /// The label of the measure.
    pub unit: String,
    /// The parts of each bar, with their names.
    pub bars: Vec<(String, Vec<(&'static str, f64)>)>,
}

impl Chart {
    /// Returns a chart over the generations of a run.
    pub fn by_generation(title: impl Into<String>, about: &str, unit: &str, series: Vec<Series>) -> Chart {
        Chart {
            title: title.into(),
            about: about.into(),
            unit: unit.into(),
            over: "generation".into(),
            series,
        }
    }

    /// Returns the picture with heading, legend, and table; empty if there are no numbers.
    pub fn figure(&self) -> Markup {
        if self.series.iter().all(|series| series.points.is_empty()) {
            return html! {};
        }
        html! {
            figure {
                h3 { (self.title) }
                p { (self.about) }
                (PreEscaped(self.svg()))
                @if self.series.len() > 1 {
                    ul.legend {
                        @for series in &self.series {
                            li {
                                span class=(format!("key c{} l{}", series.color % COLORS, series.line % LINES)) {}
                                (series.name)
                            }
                        }
                    }
                }
                details { summary { "Numbers" } (self.table()) }
            }
        }
    }

    fn table(&self) -> Markup {
        // series and their bands are sorted by x, so one pass through each finds all cells
        let mut rows: BTreeMap<Notch, Vec<Option<String>>> = BTreeMap::new();
        for (column, series) in self.series.iter().enumerate() {
            let bands: BTreeMap<Notch, (Option<f64>, Option<f64>)> =
                series.band.iter().map(|(x, low, high)| (Notch(*x), (*low, *high))).collect();
            for (x, y) in &series.points {
                let cells = rows.entry(Notch(*x)).or_insert_with(|| vec![None; self.series.len()]);
                let text = number(*y);
                cells[column].get_or_insert(match bands.get(&Notch(*x)) {
                    Some((Some(low), Some(high))) => {
                        format!("{text} ({} to {})", number(*low), number(*high))
                    }
                    Some((Some(low), None)) => format!("{text} ({} or more)", number(*low)),
                    Some((None, Some(high))) => format!("{text} ({} or less)", number(*high)),
                    _ => text,
                });
            }
        }
        html! {
            table {
                thead { tr { th scope="col" { (self.over) } @for series in &self.series { th scope="col" {
                    (series.name) } } } }
                tbody {
                    @for (x, cells) in &rows {
                        tr {
                            th scope="row" { (number(x.0)) }
                            @for cell in cells { td { (cell.as_deref().unwrap_or_default()) } }
                        }
                    }
                }
            }
        }
    }

    fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let bands = || self.series.iter().flat_map(|series| &series.band);
        let across = range(points().map(|point| point.0));
        let heights =
            points().map(|point| point.1).chain(bands().flat_map(|band| [band.1, band.2]).flatten());
        let ticks = ticks(range(heights), 5);
        let step = ticks[1] - ticks[0];
        let decimals = if step < 1.0 { decimals(step) } else { 0 };
        let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
        let x = |at: f64| LEFT + part(across.0, at, across.1) * (WIDTH - LEFT - RIGHT);
        let y = |at: f64| TOP + (1.0 - part(low, at, high)) * (HEIGHT - TOP - BELOW);
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title>",
            escaped(&self.title)
        );
        for tick in &ticks {
            let at = y(*tick);
            let zero = if *tick == 0.0 && low < 0.0 { " zero" } else { "" };
            let _ = write!(
                out,
                "<path class=\"grid{zero}\" d=\"M{LEFT} {at:.1}H{}\"/><text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                if decimals > 3 { format!("{tick:.decimals$}") } else { number(*tick) }
            );
        }
        let last = HEIGHT - BELOW;
        for tick in whole_ticks(across, 12) {
            let _ = write!(
                out,
                "<text class=\"x\" x=\"{:.1}\" y=\"{}\">{}</text>",
                x(tick),
                last + 16.0,
                number(tick)
            );
        }
        let _ = write!(
            out,
            "<text class=\"x\" x=\"{:.1}\" y=\"{}\">{}</text><text class=\"unit\" x=\"{}\" y=\"{}\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 4.0,
            escaped(&self.over),
            2.0,
            TOP - 9.0,
            escaped(&self.unit)
        );
        for series in self.series.iter().filter(|series| !series.band.is_empty()) {
            let above = series.band.iter().map(|band| (x(band.0), y(band.2.unwrap_or(high))));
            let below = series.band.iter().rev().map(|band| (x(band.0), y(band.1.unwrap_or(low))));
            let _ = write!(
                out,
                "<path class=\"band c{}\" d=\"{}z\"/>",
                series.color % COLORS,
                path(above.chain(below))
            );
        }
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            let (color, line) = (series.color % COLORS, series.line % LINES);
            let at = || series.points.iter().map(|point| (x(point.0), y(point.1)));
            let _ = write!(out, "<path class=\"line c{color} l{line}\" d=\"{}\"/>", path(at()));
            if series.points.len() <= MARKED {
                for ((cx, cy), point) in at().zip(&series.points) {
                    let (over, place, value) = (escaped(&self.over), number(point.0), number(point.1));
                    let _ = write!(
                        out,
                        "<circle class=\"dot c{color}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"2.6\"><title>{}, {over} \
                            {place}: {value}</title></circle>",
                        escaped(&series.name)
                    );
                }
            }
        }
        out + "</svg>"
    }
}

impl Bars {
    /// Returns the picture with heading, legend, and table.
    pub fn figure(&self) -> Markup {
        let mut parts: Vec<&str> = Vec::new();
        for (part, _) in self.bars.iter().flat_map(|(_, bar)| bar) {
            if !parts.contains(part) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            return html! {};
        }
        let all = |bar: &[(&str, f64)]| bar.iter().map(|(_, value)| value).sum::<f64>();
        let value =
            |bar: &[(&str, f64)], part: &str| bar.iter().find(|found| found.0 == part).map(|found| found.1);
        html! {
            figure {
                h3 { (self.title) }
                p { (self.about) }
                (PreEscaped(self.svg(&parts)))
                ul.legend {
                    @for (color, part) in parts.iter().enumerate() {
                        li { span class=(format!("key box c{}", color % COLORS)) {} (part) }
                    }
                }
                details {
                    summary { "Numbers" }
                    table {
                        thead { tr { td {} @for part in &parts { th scope="col" { (part) } } th scope="col" {
                            "all" } } }
                        tbody {
                            @for (name, bar) in &self.bars {
                                tr {
                                    th scope="row" { (name) }
                                    @for part in &parts { td { (value(bar, part).map(number).unwrap_or_default()) } }
                                    td { (number(all(bar))) " " (self.unit) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn svg(&self, parts: &[&str]) -> String {
        const BAR: f64 = 26.0;
        let sum = |bar: &[(&str, f64)]| bar.iter().map(|(_, value)| value).sum::<f64>();
        let longest = self.bars.iter().map(|(_, bar)| sum(bar)).fold(1e-9, f64::max);
        let height = TOP + (BAR + 22.0) * self.bars.len() as f64;
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"><title>{}</title>",
            escaped(&self.title)
        );
        let mut top = TOP;
        for (name, bar) in &self.bars {
            let _ = write!(
                out,
                "<text class=\"name\" x=\"2\" y=\"{}\">{}: {} {}</text>",
                top + 10.0,
                escaped(name),
                number(sum(bar)),
                escaped(&self.unit)
            );
            let mut left = 2.0;
            for (part, value) in bar {
                let width = value / longest * (WIDTH - 4.0);
                let color = parts.iter().position(|known| known == part).unwrap_or(0) % COLORS;
                let _ = write!(
                    out,
                    "<rect class=\"part c{color}\" x=\"{left:.1}\" y=\"{}\" width=\"{width:.1}\" \
                        height=\"{BAR}\"><title>{}: {} {}</title></rect>",
                    top + 15.0,
                    escaped(part),
                    number(*value),
                    escaped(&self.unit)
                );
                left += width;
            }
            top += BAR + 22.0;
        }
        out + "</svg>"
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (index, (x, y)) in points.enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
    }
    d
}

/// Returns the place of a number between two others: 0 at `low`, 1 at `high`. The computation uses halves of the
/// numbers, because the full difference may overflow.
fn part(low: f64, at: f64, high: f64) -> f64 {
    let at = if at.is_finite() { at } else { low };
    (at / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0).max(1e-9)
}

/// Returns the range from the smallest to the largest of these numbers; its ends are never equal.
fn range(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for number in numbers.filter(|number| number.is_finite()) {
        (low, high) = (low.min(number), high.max(number));
    }
    match (low <= high, low == high) {
        (false, _) => (0.0, 1.0),
        // for a single number: 0 to 1 if it is a share, otherwise between 0 and twice the number
        (true, true) if (0.0..=1.0).contains(&low) => (0.0, 1.0),
        (true, true) => ((2.0 * low).clamp(-f64::MAX, 0.0), (2.0 * high).clamp(0.0, f64::MAX)),
        (true, false) => (low, high),
    }
}

/// Returns round numbers, about `count` of them and at least two, that enclose a range. If the numbers are so large, so
/// small, or so close together that there are no round numbers, returns the ends of the range.
fn ticks((low, high): (f64, f64), count: usize) -> Vec<f64> {
    let raw = high / count as f64 - low / count as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    let ticks = (0..=count * 4).map(|index| (first + index as f64) * step);
    let ticks: Vec<f64> = ticks.take_while(|tick| *tick < (last + 0.5) * step).collect();
    let is_right = ticks.len() > 1
        && ticks.iter().all(|tick| tick.is_finite())
        && ticks.windows(2).all(|two| two[0] < two[1])
        && ticks[0] <= low + 1e-6 * step
        && ticks[ticks.len() - 1] >= high - 1e-6 * step;
    if is_right { ticks } else { vec![low, high] }
}

/// Returns the number of decimals needed to distinguish multiples of this step.
fn decimals(step: f64) -> usize {
    let is_whole = |number: f64| (number - number.round()).abs() < 1e-6;
    (0..9).find(|&decimals| is_whole(step * 10f64.powi(decimals))).unwrap_or(9) as usize
}

/// Returns whole numbers within a range, at most about `count` of them.
fn whole_ticks((low, high): (f64, f64), count: usize) -> Vec<f64> {
    let span = (high - low).max(1.0);
    let step = (0..18).flat_map(|power| [1.0, 2.0, 5.0].map(|of| of * 10f64.powi(power)));
    let step = { step }.find(|step| span / step <= count as f64).unwrap_or(span / count as f64);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(|index| index as f64 * step).collect()
}

/// Returns a number with its noun: `1 draw`, `2 draws`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a number with about three digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        0.0 => return "0".into(),
        1e15.. => format!("{value:.2e}"),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}
