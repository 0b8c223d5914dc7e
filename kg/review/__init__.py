"""What a person is asked to judge: the queue, and the sides of each question."""

from kg.review.queue import Question, Queue, queue

__all__ = ["Question", "Queue", "queue"]
