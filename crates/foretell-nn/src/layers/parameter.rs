//! Parameters, and the networks and layers that have them.

use crate::tensor::Tensor;
use std::ops::{Deref, DerefMut};

/// A parameter of a network, in whatever shape.
#[derive(Clone)]
pub(crate) struct Parameter {
    /// Values of the parameter.
    pub(crate) values: Tensor<1>,
    shape: Vec<usize>,
    trained: bool,
    /// Factor on the learning rate.
    pub(crate) rate: f64,
    /// L2 penalty λ in place of the optimizer's: λ·w is added to the gradient.
    pub(crate) penalty: Option<f64>,
}

impl Parameter {
    /// The shape.
    #[cfg(test)]
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of values.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the optimizer changes it.
    pub(crate) fn is_trained(&self) -> bool {
        self.trained
    }

    /// Gives it other values.
    pub(crate) fn set(&mut self, values: Tensor<1>) {
        self.values = if self.trained { values.into_parameter() } else { values.detach() };
    }

    /// As [`set`](Self::set), from a list.
    pub(crate) fn set_value_list(&mut self, values: Vec<f32>) {
        let count = values.len();
        self.set(Tensor::constant(values, [count]));
    }

    /// Changes its values without a copy; `Tensor` is a constant in `change`.
    pub(crate) fn change(&mut self, change: impl FnOnce(Tensor<1>) -> Tensor<1>) {
        let empty = Tensor::zeros([0]);
        // taken out, so that `change` owns the only copy and can write in place
        let values = std::mem::replace(&mut self.values, empty).detach();
        self.set(change(values));
    }

    fn freeze(&mut self) {
        self.trained = false;
        self.change(|values| values);
    }
}

/// A parameter of `D` dimensions.
#[derive(Clone)]
pub(crate) struct Param<const D: usize>(Parameter);

impl<const D: usize> Param<D> {
    /// A parameter with these values; one that is not trained the network keeps for itself.
    pub(crate) fn new(values: Vec<f32>, shape: [usize; D], trained: bool) -> Self {
        let count = values.len();
        let values = Tensor::constant(values, [count]);
        let empty = Tensor::zeros([0]);
        let mut parameter =
            Parameter { values: empty, shape: shape.to_vec(), trained, rate: 1.0, penalty: None };
        parameter.set(values);
        Self(parameter)
    }

    /// Sets a penalty of its own.
    pub(crate) fn with_penalty(mut self, penalty: f64) -> Self {
        self.0.penalty = Some(penalty);
        self
    }

    /// Sets this factor on the learning rate.
    pub(crate) fn with_rate(mut self, rate: f64) -> Self {
        self.0.rate = rate;
        self
    }

    /// The shape.
    pub(crate) fn dims(&self) -> [usize; D] {
        self.0.shape[..].try_into().expect("a parameter keeps its number of dimensions")
    }

    /// Values as a tensor.
    pub(crate) fn val(&self) -> Tensor<D> {
        self.0.values.clone().reshape(self.dims())
    }
}

impl<const D: usize> Deref for Param<D> {
    type Target = Parameter;

    fn deref(&self) -> &Parameter {
        &self.0
    }
}

impl<const D: usize> DerefMut for Param<D> {
    fn deref_mut(&mut self) -> &mut Parameter {
        &mut self.0
    }
}

/// A network, or a part of one.
pub(crate) trait Module: Clone {
    /// Calls `visit` with each parameter, always in the same order.
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Parameter));

    /// All parameters, in that order.
    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        self.clone().visit(&mut |parameter| parameters.push(parameter.clone()));
        parameters
    }

    /// Number of all their values.
    #[cfg(test)]
    fn parameter_value_count(&self) -> usize {
        self.parameters().iter().map(Parameter::count).sum()
    }

    /// Copy of the network to be judged: its outputs are constants.
    fn frozen_copy(&self) -> Self {
        let mut judged = self.clone();
        judged.visit(&mut Parameter::freeze);
        judged
    }
}

impl<const D: usize> Module for Param<D> {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Parameter)) {
        visit(&mut self.0);
    }
}

impl<M: Module> Module for Option<M> {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Parameter)) {
        self.iter_mut().for_each(|part| part.visit(visit));
    }
}

impl<M: Module> Module for Vec<M> {
    fn visit(&mut self, visit: &mut dyn FnMut(&mut Parameter)) {
        self.iter_mut().for_each(|part| part.visit(visit));
    }
}

/// Makes a struct a [`Module`] of those of its fields that have parameters.
macro_rules! module {
    ($name:ident { $($field:ident),* }) => {
        impl $crate::layers::parameter::Module for $name {
            fn visit(&mut self, visit: &mut dyn FnMut(&mut $crate::layers::parameter::Parameter)) {
                $($crate::layers::parameter::Module::visit(&mut self.$field, visit);)*
            }
        }
    };
}
pub(crate) use module;
