topic observer
title entry and exit frame each nested run
observer O entry|exit
timer T delay=20
source0 S
on T: run m1 0.03 no
add O default; add O m1; add T default; add S m1
run default 1 no
--- golden
run default
observer O entry mode=default
timer T mode=default
run m1
observer O entry mode=m1
observer O exit mode=m1
ran m1 TIMEDOUT
observer O exit mode=default
ran default FINISHED
end
