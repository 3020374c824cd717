"""The built-in workloads keep the contract, and their plans are what they claim."""

from __future__ import annotations

import re
from dataclasses import replace

import duckdb
import pytest

from pyrometer.core.errors import CapabilityError
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import registry
from pyrometer.workloads.catalogue import bucket_join, parquet_scan
from pyrometer.workloads.catalogue.bucket_join import BucketJoin
from pyrometer.workloads.catalogue.interval_join import IntervalJoin, query
from pyrometer.workloads.catalogue.parquet_scan import ParquetScan
from pyrometer.workloads.catalogue.sort_text import SortText
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.spark import executed_plan, java_class


class TestParquetScan(WorkloadContract):
    workload = ParquetScan

    def test_table_has_unique_keys_and_files_sorted_by_date(self, cache):
        spec = self.specifications()[0]
        prepared = self.workload().prepare(spec, cache)
        files = f"{prepared.paths['web_sales']}/*/*.parquet"
        rows, keys, columns = duckdb.execute(
            f"""select count(*), count(distinct (ws_order_number, ws_item_sk)),
                       (select count(*) from (describe select * from read_parquet('{files}',
                        hive_partitioning=false)))
                from read_parquet('{files}')"""
        ).fetchone()
        assert rows == keys == spec.size == prepared.facts["rows"]
        assert columns == prepared.facts["columns"] == 34
        unsorted = duckdb.execute(
            f"""select count(*) from (
                  select ws_sold_date_sk as day, year(date '1970-01-01'
                           + cast(ws_sold_date_sk - 2440588 as integer)) as year, sold_period,
                         lag(ws_sold_date_sk) over (partition by filename
                           order by file_row_number) as before
                  from read_parquet('{files}', filename=true, file_row_number=true,
                                    hive_types={{'sold_period': varchar}}))
                where day < before or year::varchar <> sold_period"""
        ).fetchone()
        assert unsorted == (0,)

    def test_lines_of_an_order_stay_together(self, cache):
        prepared = self.workload().prepare(self.specifications()[0], cache)
        runs, orders = duckdb.execute(
            f"""select sum((ws_order_number is distinct from before)::int),
                       count(distinct (filename, ws_order_number))
                from (select filename, ws_order_number, lag(ws_order_number) over
                        (partition by filename order by file_row_number) as before
                      from read_parquet('{prepared.paths["web_sales"]}/*/*.parquet',
                                        filename=true, file_row_number=true))"""
        ).fetchone()
        assert runs == orders

    def test_codecs_hold_the_same_rows(self, cache):
        sums = {
            duckdb.execute(
                f"""select sum(hash(columns(*)))::varchar, count(*)
                    from read_parquet('{prepared.paths["web_sales"]}/*/*.parquet')"""
            ).fetchone()
            for prepared in (
                self.workload().prepare(spec, cache)
                for spec in self.specifications()
                if spec.levels["data.table"] == "web_sales"
            )
        }
        assert len(sums) == 1

    @pytest.mark.spark
    @pytest.mark.parametrize(
        ("table", "price", "columns"),
        # All columns of the files, and with web_sales the one that the folders add.
        [("web_sales", "ws_sales_price", 34 + 1), ("lineitem", "l_extendedprice", 16)],
    )
    def test_plan_reads_all_columns_and_skips_nothing(self, spark, cache, table, price, columns):
        spec = self.specifications()[0]
        levels = {**spec.levels, "data.table": table}
        self.run_once(spark, cache, replace(spec, levels=levels))
        frame = spark.sql(parquet_scan.query(table))
        plan = executed_plan(frame)
        assert re.search(rf"Filter \(coalesce\(cast\({price}#\d+ as double\)", plan), plan
        assert "PushedFilters: []" in plan
        assert "PartitionFilters: []" in plan or table == "lineitem"
        assert "Batched: true" in plan
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
        assert scan.output().size() == columns


class TestIntervalJoin(WorkloadContract):
    workload = IntervalJoin

    # What runs it is what runs the scan above; plan and answer have tests below.
    @pytest.mark.slow
    def test_result_is_right(self, spark, first):
        super().test_result_is_right(spark, first)

    def test_answer_is_that_of_another_engine(self, cache):
        specifications = self.specifications()
        assert len(specifications) == 2
        for spec in specifications:
            prepared = self.workload().prepare(spec, cache)
            sql = query(spec.levels["workload.variant"])
            for column in ("starttime", "endtime"):
                sql = sql.replace(
                    f"cast(l.{column} as timestamp)",
                    f"make_timestamptz(cast(l.{column}::decimal(38, 6) * 1000000 as bigint))",
                )
            for table, path in prepared.paths.items():
                sql = sql.replace(f"{table} ", f"'{path}/*.parquet' ")
            matches, pairing, value = duckdb.execute(sql).fetchone()
            facts = prepared.facts
            assert (matches, pairing, value) == (facts["matches"], facts["pairing"], facts["value"])
            assert 0.5 * spec.size < matches < spec.size

    def test_some_events_lie_on_a_bound(self, cache):
        prepared = self.workload().prepare(self.specifications()[0], cache)
        root = prepared.root
        (count,) = duckdb.execute(
            f"""select count(*) from '{root}/eventhistory/*.parquet' e
                join '{root}/luminosity_timestamp/*.parquet' l
                on e.ts = l.starttime or e.ts = l.endtime"""
        ).fetchone()
        assert count >= self.workload.scales["test"] // 1_009

    @pytest.mark.spark
    def test_variants_give_the_same_checksum_by_different_plans(self, spark, cache):
        checksums = set()
        for spec in self.specifications():
            result, _ = self.run_once(spark, cache, spec)
            checksums.add(result.checksum)
            plan = executed_plan(spark.sql(query(spec.levels["workload.variant"])))
            (join,) = re.findall(r"BroadcastNestedLoopJoin .*", plan)
            converts = re.findall(r"cast\((?:starttime|endtime)#\d+L? as timestamp\)", join)
            expected = 2 if spec.levels["workload.variant"] == "decimal" else 0
            assert len(converts) == expected, plan
            assert join.count("cast(") == expected, plan
        assert len(checksums) == 1


@pytest.mark.slow
class TestBucketJoin(WorkloadContract):
    workload = BucketJoin

    @pytest.mark.spark
    def test_levels_compile_what_they_say(self, spark, cache):
        specifications = self.specifications()
        assert {spec.levels["workload.codegen"] for spec in specifications} >= {"whole", "none"}
        for spec in specifications:
            self.set_up(spark, cache, spec)
            frame = spark.sql(bucket_join.QUERY)
            level = spec.levels["workload.codegen"]
            plan = executed_plan(frame)
            assert bool(re.search(r"\*\(\d+\) SortMergeJoin", plan)) == (level == "whole"), plan
            spark.createDataFrame([(1,)], "n int")  # makes it the session of this thread
            jvm = spark._jvm.org.apache.spark.sql.catalyst.expressions
            output = frame._jdf.queryExecution().executedPlan().schema()
            made = jvm.UnsafeProjection.create(output).getClass().getName()
            assert ("Generated" in made) == (level != "none"), made

    @pytest.mark.spark
    def test_a_plan_without_the_sort_merge_join_is_refused(self, spark, first):
        spec = self.specifications()[0]
        result, prepared = first
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1g")
        broadcast = self.workload().run(spark, prepared, spec)
        assert broadcast.checksum == result.checksum
        mismatch = self.workload().verify(broadcast, prepared, spec)
        assert mismatch is not None
        assert "sort-merge" in mismatch.what


@pytest.mark.slow
class TestSortText(WorkloadContract):
    workload = SortText

    @pytest.mark.spark
    def test_partitions_are_those_asked_for(self, spark, cache):
        spec = self.specifications()[0]
        context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
        for api in ("jvm", "pyspark"):
            levels = {"workload.api": api, "workload.partitions": "7"}
            context.setJobGroup(f"sort-text {api}", api)
            result, prepared = self.run_once(spark, cache, replace(spec, levels=levels))
            assert self.workload().verify(result, prepared, spec) is None
            # The tracker knows what its listener has been told.
            context._jsc.sc().listenerBus().waitUntilEmpty(60000)
            jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(f"sort-text {api}"))
            stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
            assert len(stages) >= 3
            assert {stage.numTasks for stage in stages} == {7}

    @pytest.mark.spark
    def test_a_path_is_no_pattern(self, spark, tmp_path):
        cache = DataCache(tmp_path / "a[1],{b}\\*")
        for api in ("jvm", "pyspark"):
            spec = replace(
                self.specifications()[0],
                levels={"workload.api": api, "workload.partitions": "2"},
            )
            result, prepared = self.run_once(spark, cache, spec)
            assert self.workload().verify(result, prepared, spec) is None
        for name, rows in (("g[1]", 3), ("g1", 99)):
            folder = tmp_path / name
            spark.range(rows).write.parquet(str(folder / "numbers"))
            (folder / "q.sql").write_text("select * from numbers")
            (folder / "workload.yaml").write_text(
                "{name: q, summary: q, sql: q.sql, data: {numbers: {path: numbers}}}"
            )
            workload, spec = registry.get(str(folder)), registry.resolve(str(folder), {})
            prepared = workload.prepare(spec, cache)
            workload.setup(spark, prepared, spec)
            assert workload.run(spark, prepared, spec).rows == rows

    @pytest.mark.spark
    def test_a_jvm_without_the_jar_is_told_so(self, spark):
        with pytest.raises(CapabilityError, match="cannot find the class"):
            java_class(spark, "org.pyrometer.workloads.NoSuchClass")
