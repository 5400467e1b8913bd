//! The tables of messages against the schemas in Kafka's jar, field by field.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kafka_assigner_kafka::messages::{APIS, ApiTable};
use kafka_assigner_kafka::wire::{VersionRange, WireField};
use kafka_assigner_rig::kafka_jars;
use serde_json::Value;

use super::jar;

/// A field, in the words of a schema.
struct SchemaField {
    name: String,
    type_name: String,
    versions: String,
    nullable: Option<String>,
    tag: Option<u64>,
    /// Tables have it for requests alone: answers are written by tests only.
    ignorable: bool,
    default: Option<String>,
    fields: Vec<SchemaField>,
}

impl SchemaField {
    fn of_schema(field: &Value, structs: &BTreeMap<&str, &Value>) -> Self {
        let text = |key: &str| field[key].as_str().map(str::to_owned);
        let type_name = text("type").expect("each field has a type");
        // Some structs stand beside the fields and are named in several places.
        let named = structs.get(type_name.trim_start_matches("[]"));
        let fields = field["fields"].as_array().or_else(|| named?["fields"].as_array());
        let versions = text("versions").expect("each field has versions");
        if field["tag"].is_u64() {
            assert_eq!(text("taggedVersions").as_ref(), Some(&versions), "the tables know no other tags");
        }
        Self {
            name: text("name").expect("each field has a name"),
            fields: fields.into_iter().flatten().map(|field| Self::of_schema(field, structs)).collect(),
            nullable: text("nullableVersions").map(|nullable| open_ended(&nullable, &versions)),
            ignorable: field["ignorable"].as_bool().unwrap_or_default(),
            tag: field["tag"].as_u64(),
            default: field
                .get("default")
                .map(|default| default.as_str().map_or_else(|| default.to_string(), str::to_owned)),
            type_name,
            versions,
        }
    }

    fn of_table(field: &WireField) -> Self {
        let default = field.default.map(|text| if text == "None" { "null" } else { text });
        Self {
            name: camel(field.name),
            type_name: (field.schema_name)(),
            versions: match field.until {
                None => format!("{}+", field.since),
                Some(until) if until == field.since => until.to_string(),
                Some(until) => format!("{}-{until}", field.since),
            },
            nullable: field.nullable.map(|since| format!("{since}+")),
            ignorable: field.ignorable,
            tag: field.tag.map(u64::from),
            default: default.map(str::to_owned),
            fields: (field.fields)().iter().map(Self::of_table).collect(),
        }
    }
}

/// The versions in which a field may be null: `2-7` of a field that is there until version 7 is `2+`.
fn open_ended(nullable: &str, versions: &str) -> String {
    let end = |range: &str| range.split_once('-').map(|(_, end)| end.to_owned());
    match nullable.split_once('-') {
        Some((since, _)) if end(nullable) == end(versions) => format!("{since}+"),
        _ => nullable.to_owned(),
    }
}

/// `topic_id` → `TopicId`.
fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

/// A default that is that of the type anyway may be said or not, in schemas and tables.
fn said(mut fields: Vec<SchemaField>) -> Vec<SchemaField> {
    for field in &mut fields {
        let of_type = match field.type_name.as_str() {
            "bool" => "false",
            "int8" | "int16" | "int32" | "int64" | "uint16" => "0",
            _ => "",
        };
        field.default = field.default.take().filter(|default| default != of_type);
        field.fields = said(std::mem::take(&mut field.fields));
    }
    fields
}

fn never_ignorable(fields: &mut Vec<SchemaField>) {
    for field in fields {
        field.ignorable = false;
        never_ignorable(&mut field.fields);
    }
}

/// A line for each field, below the names of the structs around it.
fn lines(fields: &[SchemaField], around: &str) -> Vec<String> {
    let line = |field: &SchemaField| {
        let SchemaField { name, type_name, versions, nullable, tag, ignorable, default, fields } = field;
        let path = format!("{around}/{name}");
        let own = format!(
            "{path}: {type_name}, {versions}, null {nullable:?}, tag {tag:?}, ignorable {ignorable}, default {default:?}"
        );
        [vec![own], lines(fields, &path)].concat()
    };
    fields.iter().flat_map(line).collect()
}

/// The schemas as JSON: without their comments.
fn schemas() -> Option<BTreeMap<String, Value>> {
    let jars = kafka_jars()?;
    let client = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kafka-clients-"))
    };
    let mut paths = std::fs::read_dir(jars).unwrap().map(|entry| entry.unwrap().path());
    let texts = jar::texts(&paths.find(client).expect("Kafka's jars have the client"), "common/message/");
    let json = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).expect("a schema is JSON")
    };
    Some(texts.iter().map(|(name, text)| (name.clone(), json(text))).collect())
}

fn versions(schema: &Value, key: &str) -> String {
    schema[key].as_str().expect("each schema has its versions").to_owned()
}

fn shown(range: VersionRange) -> String {
    if range.first == range.last {
        range.first.to_string()
    } else {
        format!("{}-{}", range.first, range.last)
    }
}

fn compare(api: &ApiTable, schema: &Value, fields: &[WireField]) {
    let name = &schema["name"];
    assert_eq!(schema["apiKey"].as_i64(), Some(api.key.into()), "{name}");
    assert_eq!(versions(schema, "validVersions"), shown(api.versions), "{name}");
    let flexible = match api.flexible_since {
        i16::MAX => "none".to_owned(),
        since => format!("{since}+"),
    };
    assert_eq!(versions(schema, "flexibleVersions"), flexible, "{name}");
    let structs = schema["commonStructs"].as_array().into_iter().flatten();
    let structs = structs.filter_map(|common| Some((common["name"].as_str()?, common))).collect();
    let theirs = schema["fields"].as_array().expect("each schema has fields");
    let mut theirs = theirs.iter().map(|field| SchemaField::of_schema(field, &structs)).collect();
    if schema["type"] == "response" {
        never_ignorable(&mut theirs);
    }
    let ours = fields.iter().map(SchemaField::of_table).collect();
    let (ours, theirs) = (lines(&said(ours), ""), lines(&said(theirs), ""));
    let wrong: Vec<&String> = ours.iter().filter(|line| !theirs.contains(line)).collect();
    let missing: Vec<&String> = theirs.iter().filter(|line| !ours.contains(line)).collect();
    assert!(
        wrong.is_empty() && missing.is_empty(),
        "{name}: the table says {wrong:#?}, the schema {missing:#?}"
    );
    assert_eq!(ours, theirs, "{name}: the order of the fields");
}

#[test]
fn tables_say_what_kafkas_schemas_say() {
    let Some(schemas) = schemas() else { return };
    assert!(schemas.len() > 150, "the jar has all messages");
    for api in APIS {
        compare(api, &schemas[&format!("{}Request.json", api.name)], (api.request)());
        compare(api, &schemas[&format!("{}Response.json", api.name)], (api.answer)());
    }
}

/// The headers are written by hand: their shape must stay what it is.
#[test]
fn headers_are_as_they_were() {
    let Some(schemas) = schemas() else { return };
    let shape = |name: &str| {
        let fields = schemas[name]["fields"].as_array().unwrap().iter();
        let flexible = versions(&schemas[name], "flexibleVersions");
        (
            flexible,
            fields
                .map(|field| {
                    format!("{} {}", field["name"].as_str().unwrap(), field["type"].as_str().unwrap())
                })
                .collect::<Vec<_>>(),
        )
    };
    let (flexible, request) = shape("RequestHeader.json");
    assert_eq!(flexible, "2+");
    assert_eq!(
        request,
        ["RequestApiKey int16", "RequestApiVersion int16", "CorrelationId int32", "ClientId string"]
    );
    assert_eq!(shape("ResponseHeader.json"), ("1+".to_owned(), vec!["CorrelationId int32".to_owned()]));
}
