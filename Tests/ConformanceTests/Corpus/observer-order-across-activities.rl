topic observer
title The order number applies within each activity
observer A before-timers|before-waiting order=2
observer B before-timers|before-sources order=1
source0 S
add A default; add B default; add S default
run default 0.02 no
--- golden
run default
observer B before-timers mode=default
observer A before-timers mode=default
observer B before-sources mode=default
observer A before-waiting mode=default
ran default TIMEDOUT
end
