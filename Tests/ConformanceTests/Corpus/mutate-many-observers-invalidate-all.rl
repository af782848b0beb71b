topic mutate
title One observer invalidates all the others
slow 2
observer A before-waiting order=1
observer B before-waiting order=2
observer C before-waiting order=3
observer D before-waiting order=0
source0 S
on A: invalidate B; invalidate C; invalidate D
add A default; add B default; add C default; add D default; add S default
at 30: wake
run default 0.06 no
--- golden
run default
observer D before-waiting mode=default
observer A before-waiting mode=default
observer A before-waiting mode=default
ran default TIMEDOUT
end
