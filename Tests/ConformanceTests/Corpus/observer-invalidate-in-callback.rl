topic observer
title An observer invalidates itself
observer O all ctx
source0 S
on O before-timers: invalidate O
add O default; add S default
run default 0.02 no
valid O
--- golden
retain O
run default
observer O entry mode=default
observer O before-timers mode=default
release O
ran default TIMEDOUT
valid O = no
end
