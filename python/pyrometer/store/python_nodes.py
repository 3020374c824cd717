"""Which node of the plan drove a worker, in SQL over ``placed`` and ``told_stacks``."""

from __future__ import annotations

SHARED = "Python"
"""Operator where several nodes may have driven a worker."""

# Nodes that may have driven workers of a stage: those that say so, else the only one of its kind.
DRIVERS = """
    WITH of_jvm AS (
        SELECT p.pid AS jvm, min(a.app_index) AS app_index
        FROM processes p JOIN apps a USING (app_id) GROUP BY p.pid
    ), final AS (
        SELECT n.* FROM plan_nodes n LEFT JOIN plan_nodes up ON up.app_index = n.app_index
            AND up.sql_id = n.sql_id AND up.plan_version = n.plan_version
            AND up.node_id = n.parent_node_id
        WHERE n.is_final AND coalesce(up.name, '') NOT LIKE 'Reused%'
    ), places AS (
        SELECT DISTINCT x.jvm, x.sql_id, x.stage_id,
            coalesce(j.app_index, (SELECT min(app_index) FROM apps)) AS app_index
        FROM placed x LEFT JOIN of_jvm j USING (jvm) WHERE x.sql_id IS NOT NULL
    ), saying AS (
        SELECT DISTINCT p.*, n.node_id, n.plan_version, n.name, n.simple_string
        FROM places p JOIN node_metrics m USING (app_index, sql_id, stage_id)
        JOIN final n USING (app_index, sql_id, plan_version, node_id)
        WHERE m.metric = 'data sent to Python workers'
    ), named AS (
        SELECT p.*, n.node_id, n.plan_version, n.name, n.simple_string
        FROM places p JOIN final n USING (app_index, sql_id)
        WHERE regexp_matches(n.name, 'Python|InPandas|InArrow')
        QUALIFY count(*) OVER (PARTITION BY p.jvm, p.sql_id, p.stage_id) = 1
    )
    SELECT * FROM saying
    UNION ALL SELECT * FROM named ANTI JOIN saying USING (jvm, sql_id, stage_id)
"""

# A worker serves one node at a time: what any of its stacks says of a task, holds for all of them.
OWNERS = f"""
    WITH drives AS (
        SELECT DISTINCT pid, since, task, jvm, sql_id, stage_id FROM placed
        WHERE sql_id IS NOT NULL
    ), functions AS (
        SELECT DISTINCT stack_id, regexp_extract(u.f, '[^.]+$') AS f FROM (
            SELECT stack_id, unnest(frames) AS u FROM told_stacks)
        WHERE u.m IS NOT NULL AND u.m NOT LIKE 'pyspark.%'
    ), seen AS (
        SELECT DISTINCT p.pid, p.since, p.task, f.f
        FROM placed p JOIN functions f USING (stack_id)
    ), named AS (
        SELECT jvm, sql_id, stage_id, node_id,
            unnest(list_distinct(regexp_extract_all(simple_string, '([\\w<>]+)\\(', 1))) AS f
        FROM drivers
    ), fits AS (
        SELECT d.*, r.node_id, r.plan_version, r.name, count(s.f) AS told, count(n.f) AS said
        FROM drives d JOIN drivers r USING (jvm, sql_id, stage_id)
        LEFT JOIN named n USING (jvm, sql_id, stage_id, node_id)
        LEFT JOIN seen s ON s.pid = d.pid AND s.since = d.since AND s.task = d.task AND s.f = n.f
        GROUP BY ALL
    ), best AS (
        SELECT *, count(*) OVER drive AS nodes,
            min(name) OVER drive = max(name) OVER drive AS alike,
            rank() OVER (PARTITION BY pid, since, task, stage_id ORDER BY told DESC, said) AS place
        FROM fits WINDOW drive AS (PARTITION BY pid, since, task, stage_id)
    )
    SELECT pid, since, task, stage_id, any_value(plan_version) AS plan_version,
        CASE WHEN any_value(nodes) = 1 OR (count(*) = 1 AND any_value(told) > 0)
             THEN any_value(node_id) END AS node_id,
        CASE WHEN any_value(alike) OR (count(*) = 1 AND any_value(told) > 0)
             THEN any_value(name) ELSE '{SHARED}' END AS operator
    FROM best WHERE place = 1 GROUP BY pid, since, task, stage_id
"""
