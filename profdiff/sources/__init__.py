"""Source trees and git repositories: which lines kernels were built from, and who changed them."""
