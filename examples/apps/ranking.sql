select count(*) as orders, round(sum(price * quantity)) as revenue
  from (
    select *, row_number() over (partition by customer_id order by price * quantity desc) as rank
      from orders
  )
  where rank <= 10;
