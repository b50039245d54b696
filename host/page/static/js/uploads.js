// Files on their way into a message: checked against the contract's limits before a byte is sent, then uploaded with
// visible progress (C8, C9). XMLHttpRequest because fetch cannot tell how much has gone out.

import { RpcError } from "./rpc.js";

export function upload(file, onProgress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.open("POST", "/api/attachments");
    request.responseType = "json";
    request.setRequestHeader("X-Filename", encodeURIComponent(file.name));
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => {
      if (request.status === 201) resolve(request.response);
      else reject(refusal(request));
    };
    request.onerror = () => reject(new RpcError({ message: "", data: { code: "network" } }));
    request.onabort = () => reject(new RpcError({ message: "", data: { code: "cancelled" } }));
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

// Problem details (RFC 9457) with the contract's code; an answer without a body is told by its status.
function refusal(request) {
  const problem = request.response ?? {};
  const byStatus = { 401: "unauthorized", 413: "limit_exceeded" };
  const code = problem.code ?? byStatus[request.status] ?? "unknown";
  return new RpcError({ message: problem.detail ?? problem.title ?? String(request.status), data: { ...problem, code } });
}

// The first limit these files break, as {key, limit, value}, or null. Sizes in bytes.
export function brokenLimit(files, limits) {
  if (files.length > limits.attachments) return { key: "composer.too_many", limit: limits.attachments, value: files.length };
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > limits.attachment_bytes) return { key: "composer.too_large", limit: limits.attachment_bytes, value: total };
  return null;
}
