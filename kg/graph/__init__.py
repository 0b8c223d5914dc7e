"""The graph and its one write path: observations in, commits out."""

from kg.graph.graph import Graph
from kg.graph.observation import parse_observation
from kg.graph.recorded import Answer, Recorded
from kg.graph.said import Observation

__all__ = ["Answer", "Graph", "Observation", "Recorded", "parse_observation"]
