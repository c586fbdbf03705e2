-- load.lua LOAD: what wrk sends; "create" makes a row, then reads the collection's first rows, in turns.
local which, turn = "static", 0
local list = "/items?limit=10"
function init(args)
	which = args[1] or which
	list = args[2] or list
end
function request()
	if which == "static" then return wrk.format("GET", "/static") end
	if which == "read" then return wrk.format("GET", "/items/1") end
	turn = turn + 1
	if turn % 2 == 1 then
		return wrk.format("POST", "/items", { ["content-type"] = "application/json" }, '{"name":"bolt","stock":' .. turn .. '}')
	end
	return wrk.format("GET", list)
end
function done(summary, latency, requests)
	local failed = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
	io.write(string.format("RESULT %.0f %.2f %d\n", summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, failed))
end
