-- For wrk: one sentence of a file after the other. MENO_SENTENCES names the file, MENO_PATH the address.

local requests, next_request = {}, 0
local threads = {}

function setup(thread)
  table.insert(threads, thread)
  -- Each thread begins elsewhere, so that they do not all send the same.
  thread:set("offset", 97 * #threads)
end

function init()
  local headers = { ["Content-Type"] = "application/json" }
  for line in io.lines(os.getenv("MENO_SENTENCES")) do
    local text = line:gsub('[%c"\\]', " ")
    requests[#requests + 1] = wrk.format("POST", os.getenv("MENO_PATH") or "/v1/annotate", headers, '{"text": "' .. text .. '"}')
  end
  next_request = offset
end

function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end

-- One line that a script can read: requests a second, p50 and p99 in milliseconds, requests, errors.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %.0f %.2f %.2f %d %d\n",
    summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout))
end
