# SPDX-License-Identifier: Apache-2.0
"""The ways of putting a sandbox behind the gate, each the same to a test."""
