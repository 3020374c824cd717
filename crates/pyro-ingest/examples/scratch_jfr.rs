fn main() {
    let args: Vec<String> = std::env::args().collect();
    let spans = pyro_ingest::jfr::SpanIndex::default();
    let start = std::time::Instant::now();
    let report = pyro_ingest::jfr::ingest_recordings(&args[2..], &spans, &args[1], "h").unwrap();
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    eprintln!("{:?}", start.elapsed());
}
