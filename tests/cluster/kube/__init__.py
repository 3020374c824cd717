"""Kubernetes on a test bed: control plane, kubelet, and how both are started."""
