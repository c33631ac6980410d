//! The conditions of a space's parameters: their order, and whether they can hold.

use super::ParameterSpaceError;
use crate::condition::{Clause, Test, passing_value};
use crate::parameter::{Parameter, ParameterKind};
use std::collections::BTreeMap;

/// The `parameters`, each after those that its condition names, with the values that these take.
pub(super) fn settle(parameters: Vec<Parameter>) -> Result<Vec<Parameter>, ParameterSpaceError> {
    let kinds: BTreeMap<String, ParameterKind> =
        parameters.iter().map(|parameter| (parameter.name.clone(), parameter.kind.clone())).collect();
    let mut settled = Vec::with_capacity(parameters.len());
    for mut parameter in parameters {
        check_condition(&mut parameter, &kinds)?;
        settled.push(parameter);
    }
    sort(settled)
}

/// The tests of `clauses` by the parameter that they are about.
pub(super) fn tests_by_name<'a>(clauses: &'a [Clause]) -> BTreeMap<&'a str, Vec<&'a Test>> {
    let mut tests: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
    for clause in clauses {
        tests.entry(&clause.name).or_default().push(&clause.test);
    }
    tests
}

/// Checks that parameters of these `kinds` can fulfil the condition of `parameter`.
fn check_condition(
    parameter: &mut Parameter,
    kinds: &BTreeMap<String, ParameterKind>,
) -> Result<(), ParameterSpaceError> {
    let name = parameter.name.clone();
    let Some(condition) = &mut parameter.active_if else { return Ok(()) };
    let written = condition.to_string();
    for clause in condition.clauses_mut() {
        let parent = clause.name.clone();
        let Some(kind) = kinds.get(&parent) else {
            let others: Vec<&str> = kinds.keys().map(String::as_str).filter(|other| *other != name).collect();
            let known = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            return Err(ParameterSpaceError::UnknownParent { name, condition: written, parent, known });
        };
        clause.settle_values(kind).map_err(|value| {
            let (name, kind) = (name.clone(), kind.to_string());
            ParameterSpaceError::Unreachable { name, parent, value, kind }
        })?;
    }
    let never = tests_by_name(condition.clauses())
        .into_iter()
        .find(|(parent, tests)| passing_value(&kinds[*parent], tests).is_none());
    match never {
        Some((parent, _)) => Err(ParameterSpaceError::Never {
            name,
            condition: written,
            parent: parent.to_owned(),
            kind: kinds[parent].to_string(),
        }),
        None => Ok(()),
    }
}

/// The parameters that the condition of `parameter` names.
fn parents(parameter: &Parameter) -> impl Iterator<Item = &str> {
    let clauses = parameter.active_if.iter().flat_map(|condition| condition.clauses());
    clauses.map(|clause| clause.name.as_str())
}

/// Moves each parameter behind those that its condition names, and no other.
fn sort(mut left: Vec<Parameter>) -> Result<Vec<Parameter>, ParameterSpaceError> {
    let mut sorted: Vec<Parameter> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let has = |name: &str| sorted.iter().any(|parameter| parameter.name == name);
        let Some(next) = left.iter().position(|parameter| parents(parameter).all(has)) else {
            return Err(ParameterSpaceError::Circle { circle: describe_circle(&left) });
        };
        sorted.push(left.remove(next));
    }
    Ok(sorted)
}

/// A circle among parameters each of which waits for another one.
fn describe_circle(waiting: &[Parameter]) -> String {
    let find = |name: &str| waiting.iter().position(|parameter| parameter.name == name);
    let mut path = vec![0];
    loop {
        let last = path[path.len() - 1];
        // each of them waits for at least one other
        let Some(next) = parents(&waiting[last]).find_map(find) else { break };
        if let Some(start) = path.iter().position(|&known| known == next) {
            path.drain(..start);
            break;
        }
        path.push(next);
    }
    let text = |&at: &usize| {
        let condition = waiting[at].active_if.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} applies only if {condition}", waiting[at].name)
    };
    path.iter().map(text).collect::<Vec<_>>().join(", ")
}
