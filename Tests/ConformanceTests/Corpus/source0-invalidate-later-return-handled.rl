topic source0
title returnAfterHandled stops after the first handled source, so the quirk of the last source does not matter
trace callouts
source0 A order=1
source0 B order=2
on A: invalidate B
add A default; add B default
signal A; signal B
run default 1 yes
--- golden
run default
source0 A mode=default
ran default HANDLED
end
