//! The description of the interface as OpenAPI 3.1, made from the routes and from the types that they read and write.

use std::sync::Arc;

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use foretell_run::wire::Refused;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::served::ServerState;

const API_DESCRIPTION: &str = "Shows running studies. Any program can drive a study with four requests: ask, report, tell and best. Every error is a JSON `foretell.error/1`. In addition to the listed ones, any request can return 408 (the body was late), 413 (the body is too long), 410 (the study's log or the served folder is missing) and 503 (too many connections). Requests from other pages (a foreign `Origin`) or with another `Host` are refused. If the server uses a token, every request must contain it, in the header `Authorization: Bearer TOKEN` or as `token` in the query.";
/// The parts of an address, and the schema of each.
const PATH_PARAMETERS: [(&str, &str, &str); 3] = [
    ("study", "The name of the study and of its folder", "string"),
    ("trial", "The trial's number, from 0", "integer"),
    ("metric", "The metric's name", "string"),
];

/// Makes the schema of a type.
type SchemaMaker = fn(&mut SchemaGenerator) -> Schema;

/// One address and method, who answers, and its description.
pub(crate) struct ApiRoute {
    pub(crate) path: &'static str,
    pub(crate) handler: MethodRouter<Arc<ServerState>>,
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    about: String,
    /// Parameters in the query or a header: place, name, description and schema.
    parameters: Vec<(&'static str, &'static str, &'static str, Value)>,
    /// The schema of the body, an example, and whether it must be there.
    body: Option<(Value, Value, bool)>,
    /// Status, description, and the schema of the JSON or another type of content.
    answers: Vec<(u16, &'static str, Result<SchemaMaker, &'static str>)>,
    conflict: &'static str,
}

impl ApiRoute {
    pub(crate) fn new<T: 'static>(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Arc<ServerState>>,
        summary: &'static str,
    ) -> Self {
        let filter = match method {
            "get" => MethodFilter::GET,
            "put" => MethodFilter::PUT,
            _ => MethodFilter::POST,
        };
        let handler = on(filter, handler);
        let (about, conflict, parameters, body, answers) = (String::new(), "", Vec::new(), None, Vec::new());
        Self { path, handler, method, id, summary, about, parameters, body, answers, conflict }
    }

    /// Describes the address in such sentences.
    pub(crate) fn about(self, sentences: &[&str]) -> Self {
        Self { about: sentences.join(" "), ..self }
    }

    /// Takes a parameter in the `query` or in a `header`.
    pub(crate) fn with(
        mut self,
        place: &'static str,
        name: &'static str,
        about: &'static str,
        schema: Value,
    ) -> Self {
        self.parameters.push((place, name, about, schema));
        self
    }

    /// Takes a `T` as the body.
    pub(crate) fn takes<T: JsonSchema>(self, example: Value) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|all| all.inline_subschemas = true);
        self.with_body_schema(settings.into_generator().subschema_for::<T>().to_value(), example)
    }

    /// Takes a body of such a `schema`.
    pub(crate) fn with_body_schema(self, schema: Value, example: Value) -> Self {
        // a body whose fields may all be left out may be left out itself
        let is_needed = schema.get("required").is_some();
        Self { body: Some((schema, example, is_needed)), ..self }
    }

    /// Answers a `T`.
    pub(crate) fn answers<T: JsonSchema>(mut self, status: u16, about: &'static str) -> Self {
        self.answers.push((status, about, Ok(SchemaGenerator::subschema_for::<T>)));
        self
    }

    /// Answers content of the type `mime`.
    pub(crate) fn with_content(mut self, mime: &'static str, about: &'static str) -> Self {
        self.answers.push((200, about, Err(mime)));
        self
    }

    /// Refuses requests that contradict the existing study.
    pub(crate) fn conflicts(self, conflict: &'static str) -> Self {
        Self { conflict, ..self }
    }

    fn to_operation(&self, schemas: &mut SchemaGenerator) -> Value {
        let mut operation = json!({"operationId": self.id, "summary": self.summary});
        if !self.about.is_empty() {
            operation["description"] = self.about.as_str().into();
        }
        let places = PATH_PARAMETERS.iter().filter(|(name, ..)| self.path.contains(&format!("{{{name}}}")));
        let places = places.map(|(name, about, kind)| {
            json!({"name": name, "in": "path", "required": true, "description": about, "schema": {"type": kind}})
        });
        let others = self.parameters.iter().map(|(place, name, about, schema)| {
            json!({"name": name, "in": place, "description": about, "schema": schema})
        });
        let parameters: Vec<Value> = places.chain(others).collect();
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some((schema, example, required)) = &self.body {
            let content = json!({"schema": schema, "example": example});
            operation["requestBody"] =
                json!({"required": required, "content": {"application/json": content}});
        }
        operation["responses"] = self.responses(self.path.contains("{study}"), schemas);
        operation
    }

    fn responses(&self, is_of_study: bool, schemas: &mut SchemaGenerator) -> Value {
        let mut responses = Map::new();
        for (status, about, content) in &self.answers {
            let content = match content {
                Ok(schema) => json!({"application/json": {"schema": schema(schemas)}}),
                Err(mime) => json!({*mime: {}}),
            };
            responses.insert(status.to_string(), json!({"description": about, "content": content}));
        }
        let takes = self.body.is_some() || !self.parameters.is_empty() || self.path.contains("{trial}");
        let refusals = [
            ("400", takes, "A field is wrong; `field` contains its name"),
            ("404", is_of_study && self.id != "create", "No study or trial has this name"),
            ("409", !self.conflict.is_empty(), self.conflict),
        ];
        for (status, _, about) in refusals.into_iter().filter(|(_, may_be, _)| *may_be) {
            let schema = schemas.subschema_for::<Refused>();
            let content = json!({"application/json": {"schema": schema}});
            responses.insert(status.to_owned(), json!({"description": about, "content": content}));
        }
        Value::Object(responses)
    }
}

/// The description of all `routes`.
pub(crate) fn document(routes: &[ApiRoute]) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|all| all.definitions_path = "/components/schemas".into());
    let mut schemas = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let operation = route.to_operation(&mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let definitions = schemas.take_definitions(true).into_iter().map(rename_component).collect::<Map<_, _>>();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Foretell", "version": "1", "description": API_DESCRIPTION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8675"}],
        "security": [{}, {"token": []}, {"query": []}],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "token"},
            },
        },
    });
    clean(&mut document);
    document
}

/// A component: its name without a slash, and with the field that names a document.
fn rename_component((name, mut schema): (String, Value)) -> (String, Value) {
    if name.contains('/') {
        if let Some(Value::Object(fields)) = schema.get("properties").cloned() {
            let mut all = Map::from_iter([("schema".to_owned(), json!({"const": name}))]);
            all.extend(fields);
            schema["properties"] = all.into();
        }
        let required = schema.get("required").and_then(|names| names.as_array().cloned());
        let required = std::iter::once("schema".into()).chain(required.unwrap_or_default());
        schema["required"] = required.collect();
    }
    (name.replace('/', "-"), schema)
}

/// Leaves out fields that are only of use in Rust, and names components as [`named`] does.
fn clean(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            if fields.contains_key("type") || fields.contains_key("$ref") {
                fields.retain(|key, value| {
                    let is_noise = ["title", "format"].contains(&key.as_str()) && value.is_string();
                    let is_empty = key == "default" && value.is_null();
                    !(is_noise || is_empty || key.starts_with("x-"))
                });
            }
            if let Some(Value::String(path)) = fields.get_mut("$ref") {
                *path = path.replace("~1", "-");
            }
            fields.values_mut().for_each(clean);
        }
        _ => {}
    }
}
