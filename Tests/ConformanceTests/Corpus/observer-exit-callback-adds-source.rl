topic observer
title Items added in exit count for the next run only
observer O exit
source0 S
timer T delay=10
on O #1: add S default; signal S
add O default; add T default
run default 1 no
run default 0.02 yes
--- golden
run default
timer T mode=default
observer O exit mode=default
ran default FINISHED
run default
source0 S mode=default
observer O exit mode=default
ran default HANDLED
end
