import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS on this machine: a NameNode and a DataNode in a folder; ends with its standard input. */
public final class SmallHdfs {
  private SmallHdfs() {}

  /** Prints the address once it is up. */
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println("up " + cluster.getURI());
    while (System.in.read() >= 0) {
      continue;
    }
    cluster.shutdown();
  }
}
