use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A source with its comments in place, as `body` and placeholders.
fn taken_apart(source: &str) -> (String, BTreeMap<String, String>) {
    let mut comments = BTreeMap::new();
    let mut body = Vec::new();
    let mut tree: Option<String> = None;
    for line in source.trim().lines().map(str::trim) {
        if line == "/**" {
            tree = Some(line.to_owned());
        } else if let Some(text) = &mut tree {
            text.push_str("\n ");
            text.push_str(line);
            if line == "*/" {
                comments.insert("tree".to_owned(), tree.take().unwrap());
                body.push("/*tree*/".to_owned());
            }
        } else if line.starts_with("// ~") {
            let name = format!("c_{}", comments.len());
            body.push(format!("/*{name}*/"));
            comments.insert(name, line.replacen('~', "", 1));
        } else {
            body.push(line.to_owned());
        }
    }
    (body.join("\n"), comments)
}

/// What the only line that begins with `text` is for.
fn attributed(read: &Generated, text: &str) -> Option<(String, Option<i32>, Option<String>)> {
    let mut lines = (1..).zip(read.source.split('\n'));
    let mut found = lines.by_ref().filter(|(_, line)| line.starts_with(text));
    let number = found.next().unwrap_or_else(|| panic!("no line {text}")).0;
    assert!(found.next().is_none(), "{text} stands in one line");
    let line = read.lines.iter().find(|line| line.line == number)?;
    let operator = &read.operators[line.operator];
    let expression = line.expression.map(|e| read.expressions[e].clone());
    Some((operator.name.clone(), operator.node_index, expression))
}

fn operator(read: &Generated, text: &str) -> Option<(String, Option<i32>)> {
    attributed(read, text).map(|(name, index, _)| (name, index))
}

fn is(name: &str, index: i32) -> Option<(String, Option<i32>)> {
    Some((name.to_owned(), Some(index)))
}

fn golden(source: &str) -> Generated {
    let (body, comments) = taken_apart(source);
    let read = read(&body, &comments);
    assert_eq!(read.source.split('\n').count(), body.split('\n').count());
    assert_eq!(read.lines_count, body.split('\n').count());
    read
}

#[test]
fn lines_of_one_loop_are_told_apart_by_context_and_name() {
    let read = golden(include_str!("testdata/filter_project_4.3.txt"));
    assert_eq!(read.codegen_stage_id, Some(1));
    assert!(
        read.class_name
            .ends_with("GeneratedClass$GeneratedIteratorForCodegenStage1")
    );
    assert_eq!(read.tree.as_deref().unwrap().lines().count(), 3);
    for line in [
        "if (!range_initRange_0) {",
        "while (true) {",
        "if (shouldStop()) {",
    ] {
        assert_eq!(operator(&read, line), is("Range", 2), "{line}");
    }
    assert_eq!(
        operator(&read, "range_nextIndex_0 = range_value_0 + 1L"),
        is("Range", 2)
    );
    assert_eq!(operator(&read, "java.math.BigInteger step"), is("Range", 2));
    assert_eq!(
        operator(&read, "if (!filter_value_4) continue;"),
        is("Filter", 1)
    );
    let numbers = "((org.apache.spark.sql.execution.metric.SQLMetric) references[1]";
    assert_eq!(operator(&read, numbers), is("Filter", 1));
    let modulo = "isnotnull((input[0, bigint, false] % 7))".to_owned();
    assert_eq!(
        attributed(&read, "filter_value_1 = (long)"),
        Some(("Filter".to_owned(), Some(1), Some(modulo)))
    );
    // Worked out where the output takes the row, for the projection.
    assert_eq!(
        attributed(&read, "project_value_2 = (long)"),
        Some((
            "Project".to_owned(),
            Some(0),
            Some("(input[0, bigint, false] % 7)".to_owned())
        ))
    );
    let written = "range_mutableStateArray_0[3].write(0";
    assert_eq!(
        operator(&read, written),
        Some(("WholeStageCodegen".to_owned(), None))
    );
    assert_eq!(operator(&read, "this.references = references;"), None);
}

#[test]
fn two_projects_are_told_apart_where_a_note_says_whose_code_begins() {
    let read = golden(include_str!("testdata/two_projects.txt"));
    assert_eq!(operator(&read, "long project_value_2 ="), is("Project", 1));
    assert_eq!(operator(&read, "long project_value_9 ="), is("Project", 0));
    assert_eq!(
        operator(&read, "project_doConsume_0(range_value_0);"),
        is("Project", 1)
    );
}

#[test]
fn joins_of_a_chain_are_told_apart_and_doubtful_lines_left_out() {
    let read = golden(include_str!("testdata/two_joins_3.5.txt"));
    assert_eq!(
        operator(&read, "UnsafeRow bhj_buildRow_0 ="),
        is("BroadcastHashJoin", 1)
    );
    // The first join's column, which the second asks for as its key.
    assert_eq!(
        operator(&read, "long bhj_value_3 = bhj_buildRow_0"),
        is("BroadcastHashJoin", 1)
    );
    assert_eq!(
        operator(&read, "UnsafeRow bhj_buildRow_1 ="),
        is("BroadcastHashJoin", 0)
    );
    assert_eq!(
        operator(&read, "long bhj_value_7 = bhj_buildRow_1"),
        is("BroadcastHashJoin", 0)
    );
    // No name shows whose it is.
    assert_eq!(operator(&read, "long bhj_value_5 = 1L;"), None);
}

#[test]
fn values_find_their_comments_whether_declared_before_or_behind_their_children() {
    let read = golden(include_str!("testdata/nested_expressions_4.3.txt"));
    let expression = |line| attributed(&read, line).and_then(|(_, _, expression)| expression);
    let is = |line, text: &str| assert_eq!(expression(line).as_deref(), Some(text), "{line}");
    is("Decimal hashAgg_tmpDecimal_4 =", "cast(a as decimal(12,2))");
    is("hashAgg_tmpDecimal_4, 12, 2", "cast(a as decimal(12,2))");
    is("hashAgg_value_26 = ", "cast(b as decimal(20,0))");
    is("hashAgg_value_23 = ", "cast((a + b) as decimal(33,2))");
    is("hashAgg_value_21 = ", "cast((a + b) as decimal(33,2))");
    is(
        "hashAgg_value_19 = ",
        "(sum + cast((a + b) as decimal(33,2)))",
    );
    // A condition's value is declared behind its left side.
    is("hashAgg_value_28 = ", "(isEmpty AND isnull(c))");
    is("boolean hashAgg_value_29 =", "(isEmpty AND isnull(c))");
    assert_eq!(expression("hashAgg_buffer_0.setBoolean"), None);
}

#[test]
fn values_whose_comments_were_left_out_get_the_texts_back() {
    let comment = |name: &str, text: &str| (name.to_owned(), format!("// {text}"));
    let comments = BTreeMap::from([
        comment(
            "bnlj_c_0",
            "PRODUCE: BroadcastNestedLoopJoin BuildRight, Inner",
        ),
        comment("bnlj_c_4", "cast(input[4] as timestamp)"),
        comment("bnlj_c_5", "(input[0] >= cast(input[4] as timestamp))"),
        comment("bnlj_c_6", "cast(input[5] as timestamp)"),
        comment("bnlj_c_7", "(input[0] <= cast(input[5] as timestamp))"),
        comment(
            "bnlj_c_8",
            "((input[0] >= cast(input[4] as timestamp)) AND (input[0] <= cast(input[5] as timestamp)))",
        ),
    ]);
    let body = include_str!("testdata/interval_4.3.txt");
    let read = read(body, &comments);
    let expression = |line| attributed(&read, line).and_then(|(_, _, expression)| expression);
    let is = |line, name: &str| {
        let text = comments[name].strip_prefix("// ");
        assert_eq!(expression(line).as_deref(), text, "{line}");
    };
    is("bnlj_value_6 = (bnlj_value_1", "bnlj_c_4");
    is("bnlj_value_4 = columnartorow_value_0 >=", "bnlj_c_5");
    is("boolean bnlj_value_3 = false;", "bnlj_c_8");
    is("bnlj_value_10 = (bnlj_value_2", "bnlj_c_6");
    is("bnlj_value_8 = columnartorow_value_0 <=", "bnlj_c_7");
    is("bnlj_value_3 = bnlj_value_8;", "bnlj_c_8");
}

#[test]
fn copies_that_a_join_makes_of_values_have_no_expression() {
    let read = golden(include_str!("testdata/outer_join_3.5.txt"));
    let expression = |line| attributed(&read, line).and_then(|(_, _, expression)| expression);
    assert_eq!(
        expression("long smj_value_10 =").as_deref(),
        Some("input[2, bigint, true]")
    );
    assert_eq!(
        expression("boolean smj_isNull_7 =").as_deref(),
        Some("input[2, bigint, true]")
    );
    for line in [
        "long smj_value_11 =",
        "boolean smj_isNull_8 =",
        "smj_value_11 =",
        "comp = 0;",
    ] {
        assert_eq!(
            attributed(&read, line).map(|(name, ..)| name).as_deref(),
            Some("SortMergeJoin")
        );
        assert_eq!(expression(line), None, "{line}");
    }
    // Neither declared with the number of its value.
    let less = "(input[1, bigint, true] < 3)".to_owned();
    assert_eq!(expression("boolean smj_isNull_9 ="), Some(less.clone()));
    assert_eq!(expression("smj_value_12 = smj_value_5"), Some(less));
    assert_eq!(expression("boolean smj_isNull_4 ="), None);
}

#[test]
fn a_source_without_comments_or_of_another_class_has_no_lines() {
    let (body, _) = taken_apart(include_str!("testdata/filter_project_4.3.txt"));
    let bare = read(&body, &BTreeMap::new());
    assert_eq!((bare.lines.len(), bare.tree), (0, None));
    let projection = "public java.lang.Object generate(Object[] references) {\nreturn new \
                      SpecificUnsafeProjection(references);\n}\n\nclass SpecificUnsafeProjection {\n}";
    let read = read(projection, &BTreeMap::new());
    assert!(
        read.class_name
            .ends_with(".GeneratedClass$SpecificUnsafeProjection")
    );
    assert_eq!((read.codegen_stage_id, read.lines.len()), (None, 0));
}

#[test]
fn a_comment_of_several_lines_keeps_the_lines() {
    let comments = BTreeMap::from([
        (
            "a".to_owned(),
            "/**\n * CONSUME: Filter (a = x\n * y)\n */".to_owned(),
        ),
        ("b".to_owned(), "// */ b".to_owned()),
    ]);
    let lines = comments::substitute("/*a*/\nf(/*b*/ 1); /* c */", &comments);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].kind, Kind::Consume("Filter (a = x\ny)".to_owned()));
    assert_eq!(lines[1].text, "f(/* * / b */ 1); /* c */");
}

#[test]
fn nodes_are_those_of_the_stage_and_texts_that_several_bear_have_no_index() {
    let tree = "*(2) HashAggregate(keys=[k#1L], functions=[count(1)], output=[k#1L, n#2L])\n\
                +- *(2) Project [a\nb]\n   +- Exchange hashpartitioning(k#1L)\n      \
                +- *(1) Project [a]\n         +- *(2) Filter (x)\n            +- *(2) Filter (x)";
    let nodes = operator::nodes(tree, 2);
    assert_eq!(nodes.len(), 4);
    assert_eq!(nodes[1], "Project [a\nb]");
    let index = |text| Operator::new(text, &nodes).node_index;
    assert_eq!(
        index("HashAggregate(keys=[k#1L], functions=[count(1)])"),
        Some(0)
    );
    assert_eq!(index("Project [a\nb]"), Some(1));
    assert_eq!((index("Project [a]"), index("Filter (x)")), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn any_text_is_read_and_lines_stay_within(
        pieces in proptest::collection::vec(prop_oneof![
            "\\PC{0,12}",
            Just("/*c*/\n".to_owned()), Just("/*p*/\n".to_owned()), Just("/*e*/\n".to_owned()),
            Just("\n".to_owned()), Just("{\n".to_owned()), Just("}\n".to_owned()),
            Just("void filter_doConsume_0(int a) {\n".to_owned()),
            Just("long filter_value_3 = 1L;\n".to_owned()),
            Just("long project_value_1 = filter_value_3 +\n".to_owned()),
            Just("// common sub-expressions\n".to_owned()), Just("\"".to_owned()),
        ], 0..60),
    ) {
        let comments = BTreeMap::from([
            ("c".to_owned(), "// CONSUME: Filter (x)".to_owned()),
            ("p".to_owned(), "// PRODUCE: Project [y]".to_owned()),
            ("e".to_owned(), "// (a + b)".to_owned()),
        ]);
        let head = "return new GeneratedIteratorForCodegenStage1(references);\nclass A {\n\
                    protected void processNext() {\n";
        let body = format!("{head}{}", pieces.concat());
        let read = read(&body, &comments);
        let count = body.split('\n').count();
        prop_assert_eq!(read.lines_count, count);
        prop_assert_eq!(read.source.split('\n').count(), count);
        prop_assert!(read.lines.iter().all(|line| (1..=count).contains(&line.line)));
        prop_assert!(read.lines.is_sorted_by(|a, b| a.line < b.line));
    }
}

/// Of nested expressions whose inner comments Spark left out, each value gets its text back where
/// there are as many, also where the only comment stands before the code of all of them.
#[test]
fn values_below_the_only_comment_are_its_own() {
    let (names, body) = include_str!("testdata/rlike_4.3.txt")
        .split_once("\n\n")
        .unwrap();
    let comments = names
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, text)| (name.to_owned(), text.replace("\\n", "\n")))
        .collect();
    let read = read(body, &comments);
    let of = |line: &str| attributed(&read, line).and_then(|(_, _, expression)| expression);
    let begins = |line: &str, text: &str| assert!(of(line).unwrap().starts_with(text), "{line}");
    begins("filter_value_3 = org.apache", "hex(");
    begins("filter_value_1 = UTF8String.concat", "concat(x, hex(");
    begins(
        "filter_value_0 = filter_mutableStateArray_0",
        "RLIKE(concat(x, hex(",
    );
}
