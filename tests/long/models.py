# SPDX-License-Identifier: Apache-2.0
"""The APIs of models under their real names, as far as a real agent needs them to finish a turn.

A turn is one tool call, when the agent offers a shell and `command` is there, and then the words
ANSWER with what the tool said.
"""

import json

from internet.web import Response

ANSWER = "the-answer-of-the-stub"
_STREAM = [("Content-Type", "text/event-stream")]
_JSON = [("Content-Type", "application/json")]


def _events(events):
    """Server-sent events, each named by its type."""
    return Response("".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events),
                    headers=_STREAM)


class Model:
    """`asked` are the bodies of its turns, `keys` the credentials that came with them."""

    def __init__(self, world, name, key_header, command=None):
        self.name, self.command = name, command
        self.asked, self.keys = [], []
        self._key_header = key_header
        self.site = world.site(name, handler=self._serve)

    def _serve(self, request):
        answer = self.answer(request.method, request.target.partition("?")[0], request)
        return answer or Response('{"error": {"type": "not_found_error", "message": "no"}}', 404, _JSON)

    def note(self, request):
        self.keys.append(request.header(self._key_header))
        self.asked.append(json.loads(request.body))
        return self.asked[-1]


class Anthropic(Model):
    """docs.claude.com/en/api/messages-streaming"""

    def __init__(self, world, command=None):
        super().__init__(world, "api.anthropic.com", "x-api-key", command)

    def answer(self, method, path, request):
        if method == "HEAD":
            return Response()
        if path == "/v1/messages/count_tokens":
            return Response('{"input_tokens": 1}', headers=_JSON)
        return self._message(self.note(request)) if path == "/v1/messages" else None

    def _message(self, asked):
        block, delta, reason = self._say(asked)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model"),
                   "content": [], "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not asked.get("stream"):
            message.update(content=[{"type": "text", "text": ANSWER}], stop_reason="end_turn")
            return Response(json.dumps(message), headers=_JSON)
        return _events([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
             "usage": {"output_tokens": 3}},
            {"type": "message_stop"}])

    def _say(self, asked):
        """(block, its delta, why it stops)"""
        shell = next((tool["name"] for tool in asked.get("tools") or []
                      if tool.get("name") in ("Bash", "bash")), None)
        results = [part for message in asked.get("messages", []) if isinstance(message["content"], list)
                   for part in message["content"] if part.get("type") == "tool_result"]
        if self.command and shell and not results:
            wanted = json.dumps({"command": self.command, "description": "a command"})
            return ({"type": "tool_use", "id": "toolu_1", "name": shell, "input": {}},
                    {"type": "input_json_delta", "partial_json": wanted}, "tool_use")
        said = f"{ANSWER} {json.dumps(results[-1]['content']) if results else ''}"
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": said}, "end_turn"


class OpenAI(Model):
    """platform.openai.com/docs/api-reference/responses-streaming"""

    def __init__(self, world, command=None):
        super().__init__(world, "api.openai.com", "authorization", command)

    def answer(self, method, path, request):
        if path == "/v1/models":
            return Response('{"object": "list", "data": [], "models": []}', headers=_JSON)
        if path != "/v1/responses":
            return None
        if method == "GET":  # a WebSocket; with this status Codex takes a request at once
            return Response("{}", 426, _JSON)
        return self._response(self.note(request))

    def _response(self, asked):
        item = self._say(asked)
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": asked.get("model"),
                    "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
                              "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0},
                              "total_tokens": 2}}
        return _events([
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed",
             "response": {**response, "status": "completed", "output": [item]}}])

    def _say(self, asked):
        tools = [tool.get("name") for tool in asked.get("tools") or []]
        results = [i for i in asked.get("input", []) if i.get("type") == "function_call_output"]
        shell = next((name for name in ("exec_command", "shell_command", "shell") if name in tools), None)
        if self.command and shell and not results:
            key = "cmd" if shell == "exec_command" else "command"
            value = ["sh", "-c", self.command] if shell == "shell" else self.command
            return {"type": "function_call", "id": "f1", "call_id": "c1", "name": shell,
                    "status": "completed", "arguments": json.dumps({key: value})}
        said = f"{ANSWER} {json.dumps(results[-1]['output']) if results else ''}"
        return {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": said, "annotations": []}]}


class Gemini(Model):
    """ai.google.dev/api/generate-content"""

    def __init__(self, world, command=None):
        super().__init__(world, "generativelanguage.googleapis.com", "x-goog-api-key", command)

    def answer(self, method, path, request):
        if path.endswith(":countTokens"):
            return Response('{"totalTokens": 1}', headers=_JSON)
        if "enerateContent" not in path:
            return None
        answer = json.dumps({"candidates": [{"content": {"role": "model", "parts": [self._say(self.note(request))]},
                                             "finishReason": "STOP", "index": 0}],
                             "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1,
                                               "totalTokenCount": 2}})
        if path.endswith(":streamGenerateContent"):
            return Response(f"data: {answer}\n\n", headers=_STREAM)
        return Response(answer, headers=_JSON)

    def _say(self, asked):
        if asked.get("generationConfig", {}).get("responseMimeType") == "application/json":
            return {"text": '{"complexity_reasoning": "none", "complexity_score": 1}'}
        parts = [part for content in asked.get("contents", []) for part in content.get("parts", [])]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        offered = [f.get("name") for tool in asked.get("tools") or []
                   for f in tool.get("functionDeclarations", [])]
        if self.command and "run_shell_command" in offered and not results:
            return {"functionCall": {"name": "run_shell_command", "args": {"command": self.command}}}
        return {"text": f"{ANSWER} {json.dumps(results[-1]['response']) if results else ''}"}
