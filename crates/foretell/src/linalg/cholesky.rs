//! Cholesky's factor of a small matrix, in plain loops.

/// Turns `rows`, the lower triangle of a symmetric matrix A, into L of A = L·Lᵀ; what is above it is left as it is. `None` if A is
/// not positive definite. O(n³).
pub fn cholesky<R: AsRef<[f64]> + AsMut<[f64]>>(rows: &mut [R]) -> Option<()> {
    for i in 0..rows.len() {
        let (before, after) = rows.split_at_mut(i);
        let row = after[0].as_mut();
        for (j, other) in before.iter().enumerate() {
            let other = other.as_ref();
            let known: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - known) / other[j];
        }
        let known: f64 = row[..i].iter().map(|a| a * a).sum();
        row[i] = (row[i] - known).sqrt();
        if !(row[i] > 0.0 && row[i].is_finite()) {
            return None;
        }
    }
    Some(())
}

/// x ← L⁻¹·x, for the leading rows of `factor`, as many as `x` has.
pub fn solve_lower<R: AsRef<[f64]>>(factor: &[R], x: &mut [f64]) {
    for i in 0..x.len() {
        let row = factor[i].as_ref();
        let known: f64 = row[..i].iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - known) / row[i];
    }
}

#[cfg(test)]
mod tests {
    use super::{cholesky, solve_lower};

    #[test]
    fn the_factor_times_itself_is_the_matrix_and_an_indefinite_one_has_none() {
        let matrix = [[4.0, 0.0, 0.0], [2.0, 5.0, 0.0], [-2.0, 1.0, 6.0]];
        let mut factor = matrix;
        cholesky(&mut factor).unwrap();
        for i in 0..3 {
            for j in 0..=i {
                let product: f64 = (0..=j).map(|k| factor[i][k] * factor[j][k]).sum();
                assert!((product - matrix[i][j]).abs() < 1e-12, "{i}, {j}: {product}");
            }
        }
        let mut x = [8.0, 10.0];
        solve_lower(&factor, &mut x);
        assert!(x.iter().zip([4.0, 3.0]).all(|(x, exact): (&f64, f64)| (x - exact).abs() < 1e-12), "{x:?}");
        assert!(cholesky(&mut [[1.0, 0.0], [2.0, 1.0]]).is_none());
    }
}
