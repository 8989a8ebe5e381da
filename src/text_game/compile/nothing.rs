//! Stands in for the compiler on machines that it makes no code for, such as WebAssembly: nothing is compiled.

use super::game::Facts;
use super::mask::Mask;
use super::ops::Things;
use super::rules::Clock;
use crate::encode::Planes;
use crate::game::{Action, Outcome};

/// The compiled functions of a text: none.
#[derive(Debug)]
pub(super) struct Program<M>(std::marker::PhantomData<M>);

impl<M> Default for Program<M> {
    fn default() -> Program<M> {
        Program(std::marker::PhantomData)
    }
}

/// Returns why rules as text cannot be compiled here.
pub(crate) fn obstacle() -> Option<&'static str> {
    Some("no compiler for this kind of machine")
}

/// What a compiled play of an action has found out, which never exists here.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {}

impl Report {
    pub(super) fn is_turn(self) -> bool {
        match self {}
    }

    pub(super) fn has_changed(self) -> bool {
        match self {}
    }

    pub(super) fn result(self) -> Option<(Outcome, u16)> {
        match self {}
    }
}

impl<M: Mask> Program<M> {
    pub(super) fn list(&self, _: &Facts<M>, _: usize, _: (&Things<M>, &Clock), _: &mut Vec<Action>) -> bool {
        false
    }

    pub(super) fn can_play(&self, _: &Facts<M>) -> bool {
        false
    }

    pub(super) fn play(
        &self,
        _: &Facts<M>,
        _: usize,
        _: (&mut Things<M>, &mut Clock),
        _: Action,
    ) -> Option<Report> {
        None
    }

    pub(super) fn count(&self, _: &Facts<M>, _: usize, _: &Things<M>, _: &Clock) -> Option<usize> {
        None
    }

    pub(super) fn encode(
        &self,
        _: &Facts<M>,
        _: usize,
        _: (&Things<M>, &Clock),
        _: bool,
        _: &mut Planes,
    ) -> bool {
        false
    }
}
