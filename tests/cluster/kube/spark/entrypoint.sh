#!/bin/bash
# What an image of Spark runs: by its first word a driver or an executor, else what it is given.
# The words are Spark's (DriverCommandFeatureStep, BasicExecutorFeatureStep), as are the variables.
set -e

mapfile -t java_options < <(env | sed -n 's/^SPARK_JAVA_OPT_\([0-9]*\)=/\1 /p' | sort -n | cut -d' ' -f2-)
classes="${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*${SPARK_DIST_CLASSPATH:+:$SPARK_DIST_CLASSPATH}"
classes="${SPARK_CONF_DIR:+$SPARK_CONF_DIR:}${HADOOP_CONF_DIR:+$HADOOP_CONF_DIR:}$classes"

case "$1" in
driver)
  shift
  exec "$SPARK_HOME/bin/spark-submit" \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
    --deploy-mode client "$@"
  ;;
executor)
  exec java "${java_options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$classes:$PWD" org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
  ;;
*)
  exec "$@"
  ;;
esac
