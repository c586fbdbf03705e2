-- load.lua LOAD [LIST]: what wrk sends.  "static", "read": one reply, one row; "list": the collection's first rows; "create" makes a row, then
-- reads the first ones, in turns; "fill" makes rows of a hundred sorts; "cycle" makes, lists and deletes rows, of which there are never more than
-- a thousand; "keys" makes rows with five thousand idempotency keys, again and again; "spread": no two calls are alike.
local which, turn = "static", 0
local list = "/items?limit=10"
local json = { ["content-type"] = "application/json" }
function init(args)
	which = args[1] or which
	list = args[2] or list
end
function request()
	if which == "static" then return wrk.format("GET", "/static") end
	if which == "read" then return wrk.format("GET", "/items/1") end
	if which == "list" then return wrk.format("GET", list) end
	turn = turn + 1
	if which == "cycle" then
		local id = "w" .. math.floor(turn / 3) % 1000
		if turn % 3 == 0 then return wrk.format("POST", "/items", json, '{"id":"' .. id .. '","name":"bolt","stock":3}') end
		if turn % 3 == 1 then return wrk.format("GET", list) end
		return wrk.format("DELETE", "/items/" .. id)
	end
	if which == "spread" then return wrk.format("GET", "/static?n=" .. turn) end
	if which == "fill" then return wrk.format("POST", "/items", json, '{"name":"bolt","stock":' .. turn % 100 .. '}') end
	if which == "keys" then
		return wrk.format("POST", "/items", { ["content-type"] = "application/json", ["idempotency-key"] = "key-" .. turn % 5000 }, '{"name":"bolt"}')
	end
	if turn % 2 == 1 then
		return wrk.format("POST", "/items", json, '{"name":"bolt","stock":' .. turn .. '}')
	end
	return wrk.format("GET", list)
end
function done(summary, latency, requests)
	local failed = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
	io.write(string.format("RESULT %.0f %.2f %d\n", summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, failed))
	io.write(string.format("CALLS %d STATUS %d BROKEN %d\n", summary.requests, summary.errors.status, failed - summary.errors.status))
end
