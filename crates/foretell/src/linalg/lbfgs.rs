//! Minimization of a smooth function of a few variables by the limited-memory BFGS method.

use std::collections::VecDeque;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct LbfgsLimits {
    /// Iterations at most.
    pub iterations: usize,
    /// A gradient whose largest entry is below this is zero.
    pub gradient: f64,
    /// A decrease below this is none; twice in a row ends the search.
    pub decrease: f64,
}

/// Pairs of (step, change of gradient) that shape the search direction.
const MEMORY_PAIRS: usize = 8;
/// The longest first step: the variables are logs, and a factor of e is much.
const MAX_FIRST_STEP: f64 = 1.0;
/// Armijo's constant: the share of the promised decrease that a step must give.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// No variable moves further than this in one iteration.
const MAX_VARIABLE_STEP: f64 = 3.0;

/// A local minimizer of `f`, from `start`. `f` writes its gradient into its second argument and gives its value, `None` where
/// it is not defined. Where `f` is not defined at `start`, that is the answer.
///
/// Source: Nocedal & Wright, *Numerical Optimization*, algorithm 7.5, with a backtracking line search that skips updates of
/// negative curvature.
pub fn minimize(
    start: &[f64],
    limits: LbfgsLimits,
    mut f: impl FnMut(&[f64], &mut [f64]) -> Option<f64>,
) -> Vec<f64> {
    let mut x = start.to_vec();
    let mut gradient = vec![0.0; x.len()];
    let Some(mut value) = f(&x, &mut gradient) else {
        return x;
    };
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    let mut idle = 0;
    for _ in 0..limits.iterations {
        if max_abs(&gradient) < limits.gradient || idle >= 2 {
            break;
        }
        let mut direction = descent_direction(&gradient, &pairs);
        let limit = if pairs.is_empty() { MAX_FIRST_STEP } else { MAX_VARIABLE_STEP };
        let shrink = (limit / max_abs(&direction)).min(1.0);
        direction.iter_mut().for_each(|d| *d *= shrink);
        let Some((new_x, new_gradient, new_value)) = line_search(&x, value, &gradient, &direction, &mut f)
        else {
            break;
        };
        let step: Vec<f64> = new_x.iter().zip(&x).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = new_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        if dot(&step, &change) > 1e-10 * dot(&change, &change) {
            pairs.truncate(MEMORY_PAIRS - 1);
            pairs.push_front((step, change));
        }
        idle = if value - new_value < limits.decrease { idle + 1 } else { 0 };
        (x, gradient, value) = (new_x, new_gradient, new_value);
    }
    x
}

/// The two-loop recursion: −H·gradient, `pairs` newest first.
fn descent_direction(gradient: &[f64], pairs: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut kept = Vec::with_capacity(pairs.len());
    for (step, change) in pairs {
        let a = dot(step, &q) / dot(step, change);
        q.iter_mut().zip(change).for_each(|(q, y)| *q -= a * y);
        kept.push(a);
    }
    if let Some((step, change)) = pairs.front() {
        let scale = dot(step, change) / dot(change, change);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((step, change), a) in pairs.iter().zip(kept).rev() {
        let b = dot(change, &q) / dot(step, change);
        q.iter_mut().zip(step).for_each(|(q, s)| *q += (a - b) * s);
    }
    q
}

/// The first of the steps 1, then shortened by parabolas, that decreases `f` enough: (point, gradient, value).
fn line_search(
    x: &[f64],
    value: f64,
    gradient: &[f64],
    direction: &[f64],
    f: &mut impl FnMut(&[f64], &mut [f64]) -> Option<f64>,
) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    let slope = dot(gradient, direction);
    if slope >= 0.0 || slope.is_nan() {
        return None;
    }
    let (mut length, mut new_gradient) = (1.0, vec![0.0; x.len()]);
    for _ in 0..12 {
        let point: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let found = f(&point, &mut new_gradient).filter(|v| v.is_finite());
        match found {
            Some(found) if found <= value + SUFFICIENT_DECREASE * length * slope => {
                return Some((point, new_gradient, found));
            }
            Some(found) => {
                let parabola = -slope * length * length / (2.0 * (found - value - slope * length));
                length = parabola.clamp(0.1 * length, 0.5 * length);
            }
            // the function is not defined so far out, so there is no value to lay a parabola through
            None => length *= 0.25,
        }
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn max_abs(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LbfgsLimits = LbfgsLimits { iterations: 200, gradient: 1e-8, decrease: 0.0 };

    #[test]
    fn rosenbrock_s_valley_is_followed_to_its_end() {
        let rosenbrock = |x: &[f64], g: &mut [f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            g[0] = -2.0 * a - 400.0 * x[0] * b;
            g[1] = 200.0 * b;
            Some(a * a + 100.0 * b * b)
        };
        let x = minimize(&[-1.2, 1.0], LIMITS, rosenbrock);
        assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5, "{x:?}");
    }

    #[test]
    fn places_where_the_function_is_not_defined_are_stepped_around() {
        // x − ln x, defined for x > 0 only
        let barrier = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0 - 1.0 / x[0];
            (x[0] > 0.0).then(|| x[0] - x[0].ln())
        };
        assert!((minimize(&[9.0], LIMITS, barrier)[0] - 1.0).abs() < 1e-6);
        assert_eq!(minimize(&[-1.0], LIMITS, barrier), [-1.0]);
    }
}
