topic activities
title A run of zero seconds makes one pass with no before-waiting and no after-waiting
observer O all
source0 S
add O default; add S default
run default 0 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O exit mode=default
ran default TIMEDOUT
end
