//! Actions with weights, drawn as heat on a square or as an arrow from one square to another.

use std::cmp::Reverse;
use std::fmt::Write;

use super::{Drawing, Place, shapes};

/// The largest number of weights of each kind that are written as numbers, and the smallest weight that is written.
const NUMBERED: usize = 5;
const LEAST: f32 = 0.03;
/// How far an arrow of the second kind is moved to the side, so that arrows of both kinds can be seen.
const ASIDE: f32 = 6.0;

/// The appearance of one of the two kinds of weights.
struct WeightKind {
    heat: &'static str,
    arrow: &'static str,
    number: &'static str,
    aside: f32,
    /// The place of the number: on an arrow, as a fraction of its length; on a square, below its middle.
    along: f32,
    below: f32,
}

const WEIGHTS: WeightKind =
    WeightKind { heat: "b-heat", arrow: "b-arrow", number: "b-share", aside: 0.0, along: 0.66, below: -9.0 };
const PRIORS: WeightKind = WeightKind {
    heat: "b-prior-heat",
    arrow: "b-prior",
    number: "b-share b-prior-share",
    aside: ASIDE,
    along: 0.4,
    below: 17.0,
};

impl Drawing {
    pub(super) fn draw_weights(&self, out: &mut String) {
        for (kind, weights) in [(PRIORS, &self.marks.priors), (WEIGHTS, &self.marks.weights)] {
            for (places, weight) in weights {
                self.draw_weight(out, &kind, places, weight.clamp(0.0, 1.0));
            }
        }
        // the numbers are drawn over all arrows
        for (kind, weights) in [(PRIORS, &self.marks.priors), (WEIGHTS, &self.marks.weights)] {
            let mut largest: Vec<&(Vec<Place>, f32)> =
                weights.iter().filter(|(_, weight)| *weight >= LEAST).collect();
            largest.sort_by_key(|(_, weight)| Reverse(weight.to_bits()));
            let count = if self.marks.numbered { NUMBERED } else { 0 };
            for (places, weight) in largest.into_iter().take(count) {
                self.draw_number(out, &kind, places, weight.min(1.0));
            }
        }
    }

    /// Returns the middle of a square, for arrows.
    pub(super) fn middle_of(&self, place: Place) -> [f32; 2] {
        self.middle(place).map(|at| at as f32)
    }

    /// Returns the ends of an arrow, from the middle of the first square to that of the last, moved to the side.
    fn ends(&self, kind: &WeightKind, from: Place, to: Place) -> [[f32; 2]; 2] {
        let ends = [from, to].map(|place| self.middle_of(place));
        let [dx, dy] = [0, 1].map(|axis| ends[1][axis] - ends[0][axis]);
        let length = dx.hypot(dy);
        ends.map(|[x, y]| [x - kind.aside * dy / length, y + kind.aside * dx / length])
    }

    fn draw_weight(&self, out: &mut String, kind: &WeightKind, places: &[Place], weight: f32) {
        match *places {
            [] => {}
            [place] => {
                let [x, y] = self.middle_of(place);
                let _ = write!(
                    out,
                    "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{:.1}\"/>",
                    kind.heat,
                    x,
                    y,
                    4.0 + 11.0 * weight.sqrt()
                );
            }
            [from, .., to] if from == to => {}
            [from, .., to] => {
                let [begin, end] = self.ends(kind, from, to);
                *out += &shapes::arrow(kind.arrow, begin, end, weight);
            }
        }
    }

    fn draw_number(&self, out: &mut String, kind: &WeightKind, places: &[Place], weight: f32) {
        let [x, y] = match *places {
            [] => return,
            [place] => {
                let [x, y] = self.middle_of(place);
                [x, y + kind.below]
            }
            [from, .., to] if from == to => return,
            [from, .., to] => {
                let [begin, end] = self.ends(kind, from, to);
                let [x, y] = [0, 1].map(|axis| begin[axis] + kind.along * (end[axis] - begin[axis]));
                [x, y + 4.0]
            }
        };
        let _ = write!(
            out,
            "<text class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\">{:.0}</text>",
            kind.number,
            100.0 * weight
        );
    }
}
