//! A network in training: [`Trainer`] owns it, together with its optimizer.

use burn::module::{Module, ModuleVisitor, Param, ParamGroup};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::{Device, Tensor};

use super::adamw::AdamW;
use super::average::Average;
use super::loss::{self, Losses};
use super::quality::{self, Quality};
use super::read::ReadOnCpu;
use super::refusal::Refusal;
use super::state;
use crate::config::{OptimizerKind, Precision, TrainConfig};
use crate::error::{Error, Result};
use crate::net::auxiliary::HeadKind;
use crate::net::device::cpu;
use crate::net::infer::CpuNet;
use crate::net::model::{self, Model, Outputs};
use crate::net::network::Network;
use crate::parallel;
use crate::replay::window::Batch;

/// A network in training, with its optimizer.
pub struct Trainer {
    config: TrainConfig,
    model: Option<Model>,
    /// The network that plays, if it is not the one in training; see `train.average`.
    average: Option<Average>,
    optimizer: ModuleOptimizer,
    /// Optimizer steps so far, over all generations.
    pub step: usize,
}

debug_fields!(Trainer, config, step);

impl Trainer {
    /// Trains a network on the CPU, with a fresh optimizer. If the settings want an average, the average begins as a
    /// copy of this network.
    pub fn new(config: &TrainConfig, network: &Network) -> Trainer {
        Trainer::on(config, network, &cpu().autodiff())
    }

    /// Does the same as [`Trainer::new`] on a device with gradients.
    pub fn on(config: &TrainConfig, network: &Network, device: &Device) -> Trainer {
        let average = (config.average > 0.0).then(|| Average::of(network));
        let (config, optimizer) = (config.clone(), optimizer(config));
        Trainer { config, model: Some(Model::of(network, device)), average, optimizer, step: 0 }
    }

    /// Continues with a saved average, unless the settings want none.
    pub fn with_average(mut self, average: &Network) -> Trainer {
        self.average = self.average.map(|_| Average::of(average));
        self
    }

    /// Continues with a saved optimizer's state, which was read from `place`.
    ///
    /// # Errors
    /// If the bytes are not the state of this optimizer.
    pub fn resume(mut self, step: usize, optimizer: Vec<u8>, place: &str) -> Result<Trainer> {
        let bytes = burn::tensor::Bytes::from_bytes_vec(optimizer);
        state::check(&bytes, place)?;
        let result = self.optimizer.from_bytes(bytes);
        self.optimizer =
            result.map_err(|e| Error::Data(format!("{place} is not an optimizer state: {e:?}")))?;
        self.step = step;
        Ok(self)
    }

    /// Returns the optimizer's state as bytes; equal states give equal bytes.
    ///
    /// # Errors
    /// If burn cannot write the state.
    pub fn optimizer_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.optimizer.into_bytes();
        state::in_order(bytes.map_err(|e| Error::Data(format!("cannot write the optimizer's state: {e:?}")))?)
    }

    /// Returns an independent copy of the network that plays, for evaluation and saving. With `train.average`, this is
    /// the average; otherwise, it is the network in training.
    pub fn snapshot(&self) -> Network {
        match &self.average {
            Some(average) => average.network().clone(),
            None => self.model().snapshot(),
        }
    }

    /// Returns an independent copy of the network in training, if it is not the one that plays.
    pub fn in_training(&self) -> Option<Network> {
        self.average.is_some().then(|| self.model().snapshot())
    }

    /// Makes one optimizer step on `batch` at learning rate `rate`.
    ///
    /// # Errors
    /// If a number is not finite. After any refusal except [`Refusal::Batch`], the trainer's weights or the statistics
    /// of its batch norms have already changed and may not be finite, so make a new trainer from the last checkpoint.
    #[expect(clippy::missing_panics_doc, reason = "the step has been made")]
    pub fn train(&mut self, batch: &Batch, rate: f64) -> Result<Losses, Refusal> {
        let mut losses = None;
        parallel::inside(&mut || losses = Some(self.step(batch, rate)));
        losses.expect("the step has been made")
    }

    fn step(&mut self, batch: &Batch, rate: f64) -> Result<Losses, Refusal> {
        if !batch.is_finite() {
            return Err(Refusal::Batch);
        }
        let (loss, losses) = self.losses(self.model(), batch);
        let Losses { policy, value, .. } = losses;
        if !(policy + value).is_finite() {
            return Err(Refusal::Loss { policy, value });
        }
        let mut gradients = GradientsParams::from_grads(loss.backward(), self.model());
        let norm = clip(self.model(), &mut gradients, self.config.clip_norm);
        if !norm.is_finite() {
            return Err(Refusal::Gradient);
        }
        let model = self.model.take().expect("the model is present between steps");
        self.model = Some(self.optimizer.step(rate, model, gradients));
        self.step += 1;
        if !is_finite(self.model()) {
            return Err(Refusal::Weights);
        }
        let snapshot = self.in_training();
        if let (Some(average), Some(snapshot)) = (&mut self.average, snapshot) {
            average.add(&snapshot, self.config.average, self.step);
        }
        Ok(losses)
    }

    /// Measures how well the network that plays predicts these positions, with the fused forward pass and batch
    /// norm's running statistics.
    ///
    /// # Errors
    /// If an output of the network is not finite.
    #[expect(clippy::missing_panics_doc, reason = "every CPU has f32")]
    pub fn quality(&self, batches: impl IntoIterator<Item = Batch>) -> Result<Quality> {
        let net = CpuNet::new(&self.snapshot().weights(), Precision::F32).expect("every CPU has f32");
        quality::measure(&net, &batches.into_iter().collect::<Vec<Batch>>())
    }

    /// Returns the auxiliary heads that the network has.
    pub fn heads(&self) -> impl Iterator<Item = HeadKind> {
        self.model().layers().auxiliary.iter().map(|head| head.kind)
    }

    fn model(&self) -> &Model {
        self.model.as_ref().expect("the model is present between steps")
    }

    fn losses(&self, model: &Model, batch: &Batch) -> (Tensor<1>, Losses) {
        let device = device_of(model);
        let planes = Tensor::from_data(loss::data(&batch.planes), &device);
        let Outputs { policy, wdl, auxiliary } = model.forward_in_training(planes, self.config.precision);
        let main_losses = loss::losses(policy, wdl, batch, self.config.value_weight, &device);
        loss::with_auxiliary(main_losses, &model.layers().auxiliary, auxiliary, batch, &device)
    }
}

fn device_of(model: &Model) -> Device {
    model.devices().into_iter().next().unwrap_or_else(|| cpu().autodiff())
}

/// Makes the optimizer. `train.weight_decay` applies to kernels and matrices and `train.bias_decay` to biases; the
/// factors of norms do not decay.
fn optimizer(config: &TrainConfig) -> ModuleOptimizer {
    let (weight_decay, bias_decay) = (config.weight_decay as f32, config.bias_decay as f32);
    let others = [("gamma", 0.0), ("beta", bias_decay), ("bias", bias_decay)];
    match config.optimizer {
        OptimizerKind::Adamw => {
            let decayed = |weight_decay: f32| ReadOnCpu(AdamW { weight_decay });
            let all = ModuleOptimizer::from(decayed(weight_decay));
            others.into_iter().fold(all, |optimizer, (part, decay)| {
                optimizer.with_group(ParamGroup::from_predicate(part), decayed(decay), None)
            })
        }
        OptimizerKind::Sgd => {
            let momentum = MomentumConfig::new().with_momentum(config.momentum).with_dampening(0.0);
            let decayed = |decay: f32| {
                let decay = (decay > 0.0).then(|| WeightDecayConfig::new(decay));
                ReadOnCpu(
                    SgdConfig::new().with_momentum(Some(momentum.clone())).with_weight_decay(decay).build(),
                )
            };
            let all = ModuleOptimizer::from(decayed(weight_decay));
            others.into_iter().fold(all, |optimizer, (part, decay)| {
                optimizer.with_group(ParamGroup::from_predicate(part), decayed(decay), None)
            })
        }
    }
}

/// Scales all gradients together so that their global norm is at most `limit` (burn clips each tensor separately),
/// and returns the norm before scaling.
fn clip(network: &impl Module, gradients: &mut GradientsParams, limit: f32) -> f64 {
    let norm = gradient_norm(network, gradients);
    if norm > limit as f64 {
        network.visit(&mut Scale { gradients, factor: limit as f64 / norm });
    }
    norm
}

/// Returns the global norm of all gradients.
fn gradient_norm(network: &impl Module, gradients: &GradientsParams) -> f64 {
    let mut squares = GradientSquares { gradients, sums: Vec::new() };
    network.visit(&mut squares);
    model::read(squares.sums).into_iter().map(f64::from).sum::<f64>().sqrt()
}

/// Returns whether all parameters are finite numbers.
fn is_finite(network: &impl Module) -> bool {
    let mut sums = ParameterSums(Vec::new());
    network.visit(&mut sums);
    model::read(sums.0).into_iter().sum::<f32>().is_finite()
}

struct ParameterSums(Vec<Tensor<1>>);

impl ModuleVisitor for ParameterSums {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.val().sum());
    }
}

struct GradientSquares<'a> {
    gradients: &'a GradientsParams,
    sums: Vec<Tensor<1>>,
}

impl ModuleVisitor for GradientSquares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.sums.push(gradient.powi_scalar(2).sum());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f64,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register(param.id, gradient.mul_scalar(self.factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NetConfig;
    use crate::game::Shape;

    const SHAPE: Shape = Shape { planes: 2, height: 3, width: 3, actions: 9 };

    fn network() -> Network {
        let net =
            NetConfig { filters: 4, blocks: 1, value_planes: 1, value_hidden: 4, ..NetConfig::default() };
        Network::new(&net, SHAPE, 1)
    }

    fn batch() -> Batch {
        let mut batch = Batch::empty(4, SHAPE);
        batch.illegal.fill(false);
        batch.planes.iter_mut().enumerate().for_each(|(i, x)| *x = (i * 7 % 5) as f32);
        for row in 0..4 {
            batch.policy[[row, row]] = 1.0;
            batch.wdl[[row, row % 3]] = 1.0;
        }
        batch
    }

    /// Returns the number of dimensions and the numbers of every parameter.
    fn parameters(network: &Network) -> Vec<(usize, Vec<f32>)> {
        network.tensors().map(|(_, sizes, numbers)| (sizes.len(), numbers.to_vec())).collect()
    }

    struct FirstKernel(Option<burn::module::ParamId>);

    impl ModuleVisitor for FirstKernel {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if D == 4 {
                self.0.get_or_insert(param.id);
            }
        }
    }

    #[test]
    fn clipping_is_global_and_keeps_the_direction() {
        let network = network();
        let trainer = Trainer::new(&TrainConfig::default(), &network);
        let gradients = || {
            let (loss, _) = trainer.losses(trainer.model(), &batch());
            GradientsParams::from_grads(loss.backward(), trainer.model())
        };
        let (full, mut clipped) = (gradients(), gradients());
        let norm = gradient_norm(trainer.model(), &full);
        let limit = norm as f32 / 4.0;
        clip(trainer.model(), &mut clipped, limit);
        assert!((gradient_norm(trainer.model(), &clipped) - limit as f64).abs() < 1e-4 * norm);
        let mut first = FirstKernel(None);
        trainer.model().visit(&mut first);
        let id = first.0.expect("the network has a kernel");
        let numbers =
            |g: &GradientsParams| g.get::<4>(id).map(|t| t.into_data().try_into_vec::<f32>().expect("f32"));
        let (a, b) =
            (numbers(&full).expect("the stem's kernel"), numbers(&clipped).expect("the stem's kernel"));
        assert!(a.iter().zip(&b).all(|(a, b)| (a / 4.0 - b).abs() < 1e-5));
        // below the limit nothing changes
        let mut same = gradients();
        clip(trainer.model(), &mut same, norm as f32 * 2.0);
        assert_eq!(numbers(&same), numbers(&full));
    }

    #[test]
    fn every_parameter_is_trained() {
        let mut trainer = Trainer::new(&TrainConfig::default(), &network());
        let before = parameters(&trainer.snapshot());
        trainer.train(&batch(), 0.01).expect("finite numbers");
        let after = parameters(&trainer.snapshot());
        // the bias of a single policy plane adds the same to every logit, so it alone has no gradient
        let same: Vec<_> =
            before.iter().zip(&after).filter(|(a, b)| a == b).map(|(a, _)| a.1.len()).collect();
        assert!(same.is_empty() || same == [1], "parameters that did not change, by length: {same:?}");
    }

    #[test]
    fn steps_may_run_on_any_thread() {
        let pool = |_| rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let pools = [0, 1].map(pool);
        let after = |pool: fn(usize) -> usize| {
            let mut trainer = Trainer::new(&TrainConfig::default(), &network());
            for step in 0..4 {
                pools[pool(step)].install(|| trainer.train(&batch(), 0.01)).expect("finite numbers");
            }
            parameters(&trainer.snapshot())
        };
        assert!(after(|_| 0) == after(|step| step % 2), "weights or running statistics differ");
    }

    #[test]
    fn weight_decay_skips_norms_and_biases() {
        for optimizer in [OptimizerKind::Adamw, OptimizerKind::Sgd] {
            let after = |weight_decay| {
                let config = TrainConfig { weight_decay, optimizer, ..TrainConfig::default() };
                let mut trainer = Trainer::new(&config, &network());
                trainer.train(&batch(), 0.01).expect("finite numbers");
                parameters(&trainer.snapshot())
            };
            for ((dimensions, without), (_, with)) in after(0.0).iter().zip(after(0.5).iter()) {
                assert_eq!(
                    *dimensions > 1,
                    without != with,
                    "{optimizer:?}: a parameter of {dimensions} dimensions"
                );
            }
        }
    }

    #[test]
    fn illegal_actions_get_no_gradient_and_no_probability() {
        let mut batch = batch();
        batch.illegal.iter_mut().enumerate().for_each(|(i, illegal)| *illegal = i % 9 > 4);
        let trainer = Trainer::new(&TrainConfig::default(), &network());
        let losses = trainer.quality([batch]).expect("finite numbers");
        // a new network is nearly indifferent, so the loss is that of 5 legal actions, not of 9
        assert!((losses.policy_loss - 5f64.ln()).abs() < 0.3, "{losses:?}");
    }
}
