topic stop
title stop in entry: no pass at all, exit is sent
observer O all
source0 S
block B
on O entry #1: stop
add O default; add S default; signal S; perform B default
run default 1 no
run default 0 no
--- golden
run default
observer O entry mode=default
observer O exit mode=default
ran default STOPPED
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
source0 S mode=default
observer O exit mode=default
ran default TIMEDOUT
end
