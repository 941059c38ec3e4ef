#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where the root group hands on cpuset and not cpu, no cpuset of the host can
# be changed: each group is part of the root group, which always has numbers.
. "$(dirname "$0")/common.sh"
case " $(cat "$mount/cgroup.subtree_control") " in
    *' cpu '*) skip 'the root group hands on cpu already' ;;
esac
case " $(cat "$mount/cgroup.subtree_control") " in
    *' cpuset '*) back=+cpuset ;;
    *) back=-cpuset ;;
esac
put "$mount/cgroup.subtree_control" +cpuset || skip 'no controller cpuset'
mkdir "$top" || skip "$top exists"
trap 'rmdir "$top"; put "$mount/cgroup.subtree_control" "$back"' EXIT
put "$top/cpuset.cpus" 0 || defect 'no cpuset can be changed without +cpu'
good 'cpusets can be changed without +cpu'
