create or replace temporary view customers as
  select id as customer_id, concat('segment-', id % 7) as segment from range(50000);

select segment, count(*) as orders, round(sum(price * quantity)) as revenue
  from orders join customers using (customer_id)
  group by segment;
