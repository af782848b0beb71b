topic observer
title An observer removes itself in its callback: it stays valid
observer O all
source0 S
on O before-timers: remove O default
add O default; add S default
run default 0.02 no
valid O; contains O default
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
ran default TIMEDOUT
valid O = yes
contains O default = no
end
