topic seconds
title Zero seconds
observer O all
timer T delay=1000
add O default; add T default
run default 0 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O exit mode=default
ran default TIMEDOUT
end
