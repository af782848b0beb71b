topic timer
title A timer added in a callback with a date already past fires in the next pass
slow 2
observer O before-timers
timer A delay=30
timer B delay=5
on A: add B default
add O default; add A default
run default 1 no
--- golden
run default
observer O before-timers mode=default
timer A mode=default
observer O before-timers mode=default
timer B mode=default
ran default FINISHED
end
