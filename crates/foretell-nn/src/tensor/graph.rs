//! Values in several dimensions, and gradients by going back through the operations that made them.

use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Values in row-major order, with the operation that made them, if gradients go back through it.
#[derive(Clone)]
pub(crate) struct Tensor<const D: usize> {
    values: Rc<Vec<f32>>,
    shape: [usize; D],
    source: GradientSource,
}

/// Where gradients of an array go; none if it is constant.
pub(crate) type GradientSource = Option<Rc<GraphNode>>;

/// An operation, or a parameter.
pub(crate) struct GraphNode {
    /// Nodes are numbered as they are made: an operation has a larger number than what it was made of.
    number: u64,
    /// Hands the gradient on to what the operation was made of; none for a parameter.
    backward: RefCell<Option<BackwardStep>>,
}

type BackwardStep = Box<dyn FnOnce(Vec<f32>, &mut PendingGradients)>;

impl GraphNode {
    fn new(backward: Option<BackwardStep>) -> Rc<Self> {
        thread_local!(static NODE_COUNT: Cell<u64> = const { Cell::new(0) });
        let number = NODE_COUNT.with(|made| made.replace(made.get() + 1));
        Rc::new(Self { number, backward: RefCell::new(backward) })
    }
}

impl<const D: usize> Tensor<D> {
    /// A constant.
    pub(crate) fn constant(values: impl Into<Rc<Vec<f32>>>, shape: [usize; D]) -> Self {
        let values = values.into();
        assert_eq!(values.len(), shape.iter().product::<usize>(), "the shape matches the number of values");
        Self { values, shape, source: None }
    }

    /// Zeros.
    pub(crate) fn zeros(shape: [usize; D]) -> Self {
        Self::constant(vec![0.0; shape.iter().product()], shape)
    }

    /// Makes a parameter of these values.
    pub(crate) fn into_parameter(self) -> Self {
        Self { source: Some(GraphNode::new(None)), ..self }
    }

    /// Makes a constant of these values.
    pub(crate) fn detach(self) -> Self {
        Self { source: None, ..self }
    }

    /// The outcome of an operation on arrays with these `sources`. `backward` gets the gradient of the outcome, and adds to those of
    /// the sources; it is dropped at once if all are constant.
    pub(crate) fn made<const S: usize>(
        values: impl Into<Rc<Vec<f32>>>,
        shape: [usize; D],
        sources: [GradientSource; S],
        backward: impl FnOnce(Vec<f32>, [GradientSource; S], &mut PendingGradients) + 'static,
    ) -> Self {
        let learning = sources.iter().any(Option::is_some);
        let source = learning.then(|| {
            GraphNode::new(Some(Box::new(move |above, gradients| backward(above, sources, gradients))))
        });
        Self { source, ..Self::constant(values, shape) }
    }

    /// As [`made`](Self::made), of any number of arrays.
    pub(crate) fn from_many_sources(
        values: Vec<f32>,
        shape: [usize; D],
        sources: Vec<GradientSource>,
        backward: impl FnOnce(Vec<f32>, &[GradientSource], &mut PendingGradients) + 'static,
    ) -> Self {
        let any = sources.iter().flatten().next().cloned();
        Self::made(values, shape, [any], move |above, _, gradients| backward(above, &sources, gradients))
    }

    /// The shape.
    pub(crate) fn dims(&self) -> [usize; D] {
        self.shape
    }

    /// The values.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values, to be kept by an operation.
    pub(crate) fn share_values(&self) -> Rc<Vec<f32>> {
        Rc::clone(&self.values)
    }

    /// The values, copied only if somebody else needs them.
    pub(crate) fn into_values(self) -> Vec<f32> {
        Rc::unwrap_or_clone(self.values)
    }

    /// Where gradients go.
    pub(crate) fn source(&self) -> GradientSource {
        self.source.clone()
    }

    /// Gives the values another shape.
    pub(crate) fn reshape<const E: usize>(self, shape: [usize; E]) -> Tensor<E> {
        Tensor::made(self.values, shape, [self.source], |above, [source], gradients| {
            gradients.add(&source, above);
        })
    }

    /// The gradients of Σ `above` · values, for every parameter that they were made of. It uses the operations up.
    pub(crate) fn backward(self, above: Vec<f32>) -> PendingGradients {
        let mut gradients = PendingGradients { waiting: BTreeMap::new(), parameters: HashMap::new() };
        gradients.add(&self.source, above);
        drop(self);
        // the largest number first, because a gradient is complete only after all operations that were made of its values
        while let Some((number, (node, above))) = gradients.waiting.pop_last() {
            let backward = node.backward.borrow_mut().take();
            match backward {
                Some(backward) => backward(above, &mut gradients),
                None => drop(gradients.parameters.insert(number, above)),
            }
        }
        gradients
    }
}

impl Tensor<4> {
    /// A vector for each image: shape (images, channels · height · width).
    pub(crate) fn flatten(self) -> Tensor<2> {
        let [images, rest @ ..] = self.shape;
        self.reshape([images, rest.iter().product()])
    }
}

impl Tensor<1> {
    /// The only value.
    pub(crate) fn value(&self) -> f64 {
        f64::from(self.values[0])
    }
}

/// Gradients on their way back.
pub(crate) struct PendingGradients {
    /// Those of operations that are still to be gone through, by number: the last one is next.
    waiting: BTreeMap<u64, (Rc<GraphNode>, Vec<f32>)>,
    /// Those of parameters.
    parameters: HashMap<u64, Vec<f32>>,
}

impl PendingGradients {
    /// Adds to the gradient of a source; nothing if it is constant.
    pub(crate) fn add(&mut self, source: &GradientSource, gradient: Vec<f32>) {
        let Some(node) = source else { return };
        match self.waiting.entry(node.number) {
            Entry::Vacant(empty) => drop(empty.insert((Rc::clone(node), gradient))),
            Entry::Occupied(mut sum) => {
                let sum = &mut sum.get_mut().1;
                sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
            }
        }
    }

    /// Takes the gradient of a parameter out; none if it had no part in the outcome.
    pub(crate) fn take(&mut self, source: &GradientSource) -> Option<Vec<f32>> {
        self.parameters.remove(&source.as_ref()?.number)
    }
}

/// Σ aᵢ·bᵢ: in sixteen lanes, so that it is fast and rounds little.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; SUM_LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUM_LANES>(), b.as_chunks::<SUM_LANES>());
    for (a, b) in a.iter().zip(b) {
        (0..SUM_LANES).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    lanes.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Σ of(aᵢ), as [`dot`].
pub(crate) fn sum_with(a: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; SUM_LANES];
    let (a, rest) = a.as_chunks::<SUM_LANES>();
    for a in a {
        (0..SUM_LANES).for_each(|lane| lanes[lane] += of(a[lane]));
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&a| of(a)).sum::<f32>()
}

/// Σ aᵢ, as [`dot`].
pub(crate) fn sum(a: &[f32]) -> f32 {
    sum_with(a, |a| a)
}

const SUM_LANES: usize = 16;
