# SPDX-License-Identifier: Apache-2.0
"""The little internet: a person's machine and the world behind it, in namespaces of their own."""
