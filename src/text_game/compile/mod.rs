//! Compiles the rules of a text to machine code, with Cranelift.
//!
//! What [`eval`](super::eval), [`moves`](super::moves), and [`perform`](super::perform) do with the trees of a text for
//! one position, these modules emit as code that does it for every position. Both compute the same. The trees stay,
//! for systems that forbid new code, for WebAssembly, and to test the code against.
//!
//! `words` emits operations on sets of squares, and `emitter` what every function needs. `sets`, `conditions`, `lines`,
//! `required`, and `found` search for legal actions, `act` and `play` perform them, and `encode` writes planes.

mod act;
mod actions;
mod conditions;
mod emitter;
mod encode;
mod found;
mod lines;
mod play;
mod report;
mod required;
mod sets;
mod tables;
#[cfg(test)]
pub(super) mod tests;
mod words;

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use cranelift_codegen::ir::{AbiParam, InstBuilder, Type, Value, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};

use self::actions::Layout;
use self::emitter::{Emitter, Times};
use self::encode::Encode;
use self::lines::{Search, Sink};
use self::play::Act;
use self::report::Report;
use self::tables::Tables;
use self::words::Code;
use super::game::Facts;
use super::mask::Mask;
use super::ops::Things;
use super::rules::Clock;
use crate::encode::Planes;
use crate::game::Action;

/// Why a text could not be compiled.
type Failure = String;

const TOO_LONG: &str = "the rules are too long to compile";

type PlayFunction<M> = unsafe extern "C" fn(*mut Things<M>, *mut Clock, u32) -> u32;
type MarkFunction<M> = unsafe extern "C" fn(*const Things<M>, *const Clock, *mut u64);
type EncodeFunction<M> = unsafe extern "C" fn(*const Things<M>, *const Clock, *mut u64, bool);

/// The compiled functions of a text. Each group is compiled when it is first used.
pub(super) struct Program<M: Mask> {
    acting: OnceLock<Result<Acting<M>, Failure>>,
    encoding: OnceLock<Result<Encoding<M>, Failure>>,
}

/// The functions that play games, for each player.
struct Acting<M: Mask> {
    play: [PlayFunction<M>; 2],
    mark: [MarkFunction<M>; 2],
    actions: [Layout; 2],
    _memory: Memory<M>,
}

struct Encoding<M: Mask> {
    encode: [EncodeFunction<M>; 2],
    _memory: Memory<M>,
}

/// The memory of compiled functions.
struct Memory<M> {
    module: Mutex<Option<JITModule>>,
    _tables: Tables<M>,
}

impl<M> Drop for Memory<M> {
    #[expect(unsafe_code, reason = "the module frees its memory only on request")]
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: the functions are fields beside this memory, which end with it
            unsafe { module.free_memory() };
        }
    }
}

impl<M: Mask> fmt::Debug for Program<M> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Program").finish_non_exhaustive()
    }
}

impl<M: Mask> Default for Program<M> {
    fn default() -> Program<M> {
        Program { acting: OnceLock::new(), encoding: OnceLock::new() }
    }
}

#[expect(unsafe_code, reason = "compiled functions are called")]
impl<M: Mask> Program<M> {
    fn acting(&self, facts: &Facts<M>) -> Option<&Acting<M>> {
        self.acting.get_or_init(|| acting(facts)).as_ref().ok()
    }

    /// Compiles the functions that play games, and returns why that is not possible.
    #[cfg(test)]
    pub(super) fn failure(&self, facts: &Facts<M>) -> Option<&str> {
        self.acting.get_or_init(|| acting(facts)).as_ref().err().map(String::as_str)
    }

    /// Writes the legal actions of a position that is not over; returns false if the text is not compiled.
    #[inline]
    pub(super) fn list(
        &self,
        facts: &Facts<M>,
        player: usize,
        (things, clock): (&Things<M>, &Clock),
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(acting) = self.acting(facts) else { return false };
        // SAFETY: the function reads a position of this text, and marks words of its layout
        let find = |words: *mut u64| unsafe { acting.mark[player](things, clock, words) };
        acting.actions[player].list(clock.phase, find, out);
        true
    }

    /// Returns whether the functions that play games are compiled.
    #[inline]
    pub(super) fn can_play(&self, facts: &Facts<M>) -> bool {
        self.acting(facts).is_some()
    }

    /// Plays a legal action; returns `None`, and does nothing, if the action is not compiled.
    #[inline]
    pub(super) fn play(
        &self,
        facts: &Facts<M>,
        player: usize,
        (things, clock): (&mut Things<M>, &mut Clock),
        action: Action,
    ) -> Option<Report> {
        let acting = self.acting(facts)?;
        // an action beyond all numbers would be looked up beyond the tables
        assert!(action.index() < facts.shape.actions, "an action of this game");
        // SAFETY: the function reads and writes a position of this text
        Report::of(unsafe { acting.play[player](things, clock, action.index() as u32) })
    }

    /// Counts the legal actions of a position that is not over; returns `None` if the text is not compiled.
    #[inline]
    pub(super) fn count(
        &self,
        facts: &Facts<M>,
        player: usize,
        things: &Things<M>,
        clock: &Clock,
    ) -> Option<usize> {
        let acting = self.acting(facts)?;
        // SAFETY: the function reads a position of this text, and marks words of its layout
        let find = |words: *mut u64| unsafe { acting.mark[player](things, clock, words) };
        Some(acting.actions[player].count(clock.phase, find))
    }

    /// Writes all planes but that of repetitions; returns false if the text is not compiled.
    ///
    /// # Panics
    /// If the planes do not have the shape of the game.
    #[inline]
    pub(super) fn encode(
        &self,
        facts: &Facts<M>,
        player: usize,
        (things, clock): (&Things<M>, &Clock),
        is_over: bool,
        planes: &mut Planes,
    ) -> bool {
        let Ok(encoding) = self.encoding.get_or_init(|| encoding(facts)) else { return false };
        let words = planes.words_mut();
        assert_eq!(words.len(), facts.shape.words(), "planes of this game");
        // SAFETY: the function reads a position of this text, and writes as many words as planes of its shape have
        unsafe { encoding.encode[player](things, clock, words.as_mut_ptr(), is_over) };
        true
    }
}

/// Compiles the functions that play games.
#[expect(unsafe_code, reason = "the functions have the types with which they were declared")]
fn acting<M: Mask>(facts: &Facts<M>) -> Result<Acting<M>, Failure> {
    let mut workshop = Workshop::new(facts)?;
    let can = workshop.for_players(&[types::I64; 2], Some(types::I8), emit_can)?;
    workshop.can = can.map(Some);
    let arguments = [types::I64, types::I64, types::I32];
    let play = workshop.for_players(&arguments, Some(types::I32), |emitter, player, arguments| {
        let [things, clock, action] = arguments[..] else { unreachable!("three arguments") };
        emitter.play(Act { player, things, clock, action });
    })?;
    let mark = workshop.for_players(&[types::I64; 3], None, emit_mark)?;
    let mut memory = workshop.finished()?;
    // SAFETY: see the declarations above
    let (play, mark) = unsafe { (memory.functions(play), memory.functions(mark)) };
    let actions = facts.rules.each_ref().map(|rules| Layout::new(rules, facts.shape.cells()));
    Ok(Acting { play, mark, actions, _memory: memory })
}

#[expect(unsafe_code, reason = "the functions have the types with which they were declared")]
fn encoding<M: Mask>(facts: &Facts<M>) -> Result<Encoding<M>, Failure> {
    let mut workshop = Workshop::new(facts)?;
    let arguments = [types::I64, types::I64, types::I64, types::I8];
    let encode = workshop.for_players(&arguments, None, |emitter, player, arguments| {
        let [things, clock, out, is_over] = arguments[..] else { unreachable!("four arguments") };
        emitter.encode(Encode { player, things, clock, out, is_over });
        emitter.code.builder.ins().return_(&[]);
    })?;
    let mut memory = workshop.finished()?;
    // SAFETY: see the declaration above
    Ok(Encoding { encode: unsafe { memory.functions(encode) }, _memory: memory })
}

fn emit_can<M: Mask>(emitter: &mut Emitter<M>, player: usize, arguments: &[Value]) {
    let view = emitter.opening(player, arguments[0], arguments[1]);
    let none = emitter.code.byte(0);
    let can = emitter.code.variable(types::I8, none);
    let yes = emitter.label();
    emitter.find(Search::new(view, arguments[1], Sink::Can { yes, can }));
    let can = emitter.code.builder.use_var(can);
    emitter.code.builder.ins().return_(&[can]);
    emitter.place(yes);
    let one = emitter.code.byte(1);
    emitter.code.builder.ins().return_(&[one]);
}

fn emit_mark<M: Mask>(emitter: &mut Emitter<M>, player: usize, arguments: &[Value]) {
    let facts = emitter.facts;
    let view = emitter.opening(player, arguments[0], arguments[1]);
    let rules = &facts.rules[player];
    // if the lines have many planes, the position is turned once, instead of the actions of each plane
    let is_turned = emitter.is_turned(player) && rules.planes > facts.sets;
    let view = if is_turned { emitter.turned_view(view) } else { view };
    let has_groups = rules.lines.iter().any(|line| line.group != rules.lines[0].group);
    let none = emitter.code.number(0);
    let any = has_groups.then(|| emitter.code.variable(types::I64, none));
    emitter.find(Search::new(view, arguments[1], Sink::Mark { words: arguments[2], any }));
    emitter.code.builder.ins().return_(&[]);
}

/// Makes the functions of a text.
struct Workshop<'a, M: Mask> {
    facts: &'a Facts<M>,
    module: JITModule,
    context: cranelift_codegen::Context,
    builders: FunctionBuilderContext,
    tables: Tables<M>,
    /// For each player, the function that returns whether the player can act.
    can: [Option<FuncId>; 2],
}

impl<'a, M: Mask> Workshop<'a, M> {
    fn new(facts: &'a Facts<M>) -> Result<Workshop<'a, M>, Failure> {
        let module = new_module()?;
        Ok(Workshop {
            facts,
            context: module.make_context(),
            module,
            builders: FunctionBuilderContext::new(),
            tables: Tables::default(),
            can: [None; 2],
        })
    }

    /// Declares a function with these types of arguments and of its result.
    fn declare(&mut self, arguments: &[Type], result: Option<Type>) -> Result<FuncId, Failure> {
        let signature = self.signature(arguments, result);
        self.module.declare_anonymous_function(&signature).map_err(|error| error.to_string())
    }

    /// Declares and defines a function for each player.
    fn for_players(
        &mut self,
        arguments: &[Type],
        result: Option<Type>,
        emit: impl Fn(&mut Emitter<M>, usize, &[Value]),
    ) -> Result<[FuncId; 2], Failure> {
        let mut define = |player: usize| {
            let function = self.declare(arguments, result)?;
            self.define(function, |emitter, arguments| emit(emitter, player, arguments))?;
            Ok::<FuncId, Failure>(function)
        };
        Ok([define(0)?, define(1)?])
    }

    fn signature(&self, arguments: &[Type], result: Option<Type>) -> cranelift_codegen::ir::Signature {
        let mut signature = self.module.make_signature();
        signature.params.extend(arguments.iter().map(|ty| AbiParam::new(*ty)));
        signature.returns.extend(result.map(AbiParam::new));
        signature
    }

    fn define(
        &mut self,
        function: FuncId,
        emit: impl FnOnce(&mut Emitter<M>, &[Value]),
    ) -> Result<(), Failure> {
        self.context.func.signature =
            self.module.declarations().get_function_decl(function).signature.clone();
        let can =
            self.can.map(|can| can.map(|can| self.module.declare_func_in_func(can, &mut self.context.func)));
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builders);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let arguments = builder.block_params(entry).to_vec();
        let words = self.facts.shape.cells().div_ceil(64);
        let zero = builder.ins().iconst(types::I64, 0);
        let code = Code { builder, words, zero };
        let mut emitter = Emitter::new(
            code,
            self.facts,
            &mut self.tables,
            Times { ply: zero, quiet: zero, passes: zero },
            can,
        );
        emit(&mut emitter, &arguments);
        let is_too_long = emitter.code.is_too_long();
        let config = self.module.target_config();
        emitter.code.builder.finalize(config);
        if is_too_long {
            return Err(TOO_LONG.into());
        }
        self.module.define_function(function, &mut self.context).map_err(|error| format!("{error:?}"))?;
        self.module.clear_context(&mut self.context);
        Ok(())
    }

    /// Makes the functions callable.
    fn finished(self) -> Result<Memory<M>, Failure> {
        Memory::finished(self.module, self.tables)
    }
}

impl<M> Memory<M> {
    /// Makes the functions of a module callable.
    fn finished(module: JITModule, tables: Tables<M>) -> Result<Memory<M>, Failure> {
        let mut memory = Memory { module: Mutex::new(Some(module)), _tables: tables };
        memory.module().finalize_definitions().map_err(|error| error.to_string())?;
        Ok(memory)
    }

    fn module(&mut self) -> &mut JITModule {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner);
        module.as_mut().expect("only a drop takes the module")
    }

    /// Returns finished functions.
    ///
    /// SAFETY: `F` must be a pointer to a function of the types with which they were declared.
    #[expect(unsafe_code, reason = "the addresses of compiled functions become functions")]
    unsafe fn functions<F>(&mut self, functions: [FuncId; 2]) -> [F; 2] {
        assert_eq!(size_of::<F>(), size_of::<*const u8>(), "a pointer");
        functions.map(|function| {
            let address = self.module().get_finalized_function(function);
            unsafe { std::mem::transmute_copy(&address) }
        })
    }
}

/// Returns why rules as text cannot be compiled here, if they cannot: a system may forbid new code.
pub(crate) fn obstacle() -> Option<&'static str> {
    static OBSTACLE: OnceLock<Option<Failure>> = OnceLock::new();
    OBSTACLE.get_or_init(|| try_out().err()).as_deref()
}

/// Makes a function that does nothing.
fn try_out() -> Result<(), Failure> {
    let mut module = new_module()?;
    let mut context = module.make_context();
    let mut builders = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builders);
    let entry = builder.create_block();
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    builder.ins().return_(&[]);
    builder.finalize(module.target_config());
    let function =
        module.declare_anonymous_function(&context.func.signature).map_err(|error| error.to_string())?;
    module.define_function(function, &mut context).map_err(|error| error.to_string())?;
    Memory::<u64>::finished(module, Tables::default()).map(drop)
}

fn new_module() -> Result<JITModule, Failure> {
    static MACHINE: OnceLock<Result<OwnedTargetIsa, Failure>> = OnceLock::new();
    let machine = MACHINE.get_or_init(this_machine).clone()?;
    Ok(JITModule::new(JITBuilder::with_isa(machine, default_libcall_names())))
}

/// Describes this machine to the compiler.
fn this_machine() -> Result<OwnedTargetIsa, Failure> {
    let mut flags = settings::builder();
    let options = [("opt_level", "speed"), ("is_pic", "false"), ("enable_verifier", "false")];
    for (name, value) in options {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let builder = cranelift_native::builder()?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}
